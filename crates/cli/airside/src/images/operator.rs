//! `airside images operator`: asks registries, and tells what is where.

use std::{fs, net::SocketAddr, path::PathBuf, time::Duration};

use airside_image_operator::{Options as Operating, Rate, RegistryRules, Terms};
use anyhow::{Context as _, Result};
use clap::Args;
use tokio_util::sync::CancellationToken;

use airside_app::{options::Observing, server};

pub(crate) const EXAMPLES: &str = "\
Examples:
  airside images operator
      in a pod of the cluster, or with KUBECONFIG; `airside images install` prints its deployment
";

#[derive(Args)]
pub(crate) struct Options {
    /// The namespace it is in, which has its lease
    #[arg(
        long,
        env = "POD_NAMESPACE",
        value_name = "NAME",
        default_value = "airside-images"
    )]
    namespace: String,

    /// What this replica is called; two of one name would both work at once
    #[arg(long, env = "POD_NAME", value_name = "NAME")]
    identity: Option<String>,

    /// Where agents ask for pulls
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8443")]
    listen: SocketAddr,

    /// How many pulls of the whole cluster are under way at once
    #[arg(long, value_name = "NUMBER", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..))]
    pulls_at_once: u32,

    /// A registry without TLS (repeatable)
    #[arg(long, value_name = "HOST:PORT")]
    plain_registry: Vec<String>,

    /// Certificates to trust beside the public ones, as PEM (repeatable)
    #[arg(long, value_name = "FILE")]
    ca_file: Vec<PathBuf>,

    /// How many requests a second one registry gets at most
    #[arg(long, value_name = "NUMBER", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    requests_per_second: u32,

    /// After this long without a word from its agent a node's labels are taken away
    #[arg(long, value_name = "SECONDS", default_value_t = 90)]
    agent_timeout: u64,

    /// How long a deleted set waits for nodes to let go of its images
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    deletion_deadline: u64,

    /// How long a replica that does not say so any more counts as working
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u64).range(3..))]
    lease: u64,

    #[command(flatten)]
    observing: Observing,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    server::until_told(&options.observing, async |shutdown| {
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
