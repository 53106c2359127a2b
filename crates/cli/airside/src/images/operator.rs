//! `airside images operator`: resolves tags at registries, and reports which node has which image.

use std::{fs, net::SocketAddr, path::PathBuf, time::Duration};

use airside_image_operator::{Options as Operating, Rate, RegistryRules, Terms};
use anyhow::{Context as _, Result};
use clap::Args;
use tokio_util::sync::CancellationToken;

use airside_app::{options::Observing, server};

pub(crate) const EXAMPLES: &str = "\
Examples:
  # Install the operator; its pods run this command
  airside images install | kubectl apply --server-side -f -

  # Run it by hand, for the cluster of KUBECONFIG
  airside images operator";

#[derive(Args)]
pub(crate) struct Options {
    /// Namespace of the operator and its lease
    #[arg(
        long,
        env = "POD_NAMESPACE",
        value_name = "NAMESPACE",
        default_value = "airside-images"
    )]
    namespace: String,

    /// Name of this replica; every replica must have its own [default: derived from the process id]
    #[arg(long, env = "POD_NAME", value_name = "NAME")]
    identity: Option<String>,

    /// Address on which node agents request pulls
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8443", value_parser = airside_serve::listen_address)]
    listen: SocketAddr,

    /// Maximum number of pulls in the whole cluster at once
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..))]
    pulls_at_once: u32,

    /// Registry that is reached without TLS. Can be repeated
    #[arg(long, value_name = "HOST:PORT")]
    plain_registry: Vec<String>,

    /// File with CA certificates (PEM) to trust for registries, in addition to the public ones. Can
    /// be repeated
    #[arg(long, value_name = "FILE")]
    ca_file: Vec<PathBuf>,

    /// Maximum number of requests per second to one registry
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    requests_per_second: u32,

    /// Time in seconds without a report from its agent after which a node's labels are removed
    #[arg(long, value_name = "SECONDS", default_value_t = 90)]
    agent_timeout: u64,

    /// Time in seconds that a deleted ImageSet waits for nodes to remove its images
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    deletion_deadline: u64,

    /// Time in seconds after which a silent replica is replaced by another
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u64).range(3..))]
    lease: u64,

    #[command(flatten)]
    observing: Observing,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    server::run_until_signal(&options.observing, async |shutdown| {
        operate(options, shutdown).await
    })
}

async fn operate(options: &Options, shutdown: CancellationToken) -> Result<()> {
    let client = airside_image_operator::client().await?;
    Ok(airside_image_operator::run(client, operating(options)?, shutdown).await?)
}

fn operating(options: &Options) -> Result<Operating> {
    let read = |file: &PathBuf| {
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
    };
    let per_second = f64::from(options.requests_per_second);
    Ok(Operating {
        namespace: options.namespace.clone(),
        identity: options
            .identity
            .clone()
            .unwrap_or_else(|| format!("process-{}", std::process::id())),
        listen: options.listen,
        pulls_at_once: usize::try_from(options.pulls_at_once).unwrap_or(usize::MAX),
        registries: RegistryRules {
            plain: options.plain_registry.clone(),
            certificates: options.ca_file.iter().map(read).collect::<Result<_>>()?,
        },
        rate: Rate {
            per_second,
            burst: per_second * 4.0,
        },
        agent_patience: Duration::from_secs(options.agent_timeout),
        deletion_deadline: Duration::from_secs(options.deletion_deadline),
        lease: Terms {
            lasts: Duration::from_secs(options.lease),
            renewed_every: Duration::from_secs(options.lease) / 3,
        },
    })
}
