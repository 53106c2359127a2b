//! `airside images admission`: places pods that use images kept on nodes.

use std::{net::SocketAddr, time::Duration};

use airside_image_admission::{Rewrite, Rules, Settings};
use airside_image_install::AdmissionInstall;
use anyhow::Result;
use clap::Args;
use tokio_util::sync::CancellationToken;
use tracing::info;

use airside_app::{
    options::Observing,
    server::{self, listeners},
};

pub(crate) const EXAMPLES: &str = "\
Examples:
  # Install the webhook with the rest of the image system; its pods run this command
  airside images install | kubectl apply --server-side -f -";

#[derive(Args)]
pub(crate) struct Options {
    /// Namespace of the image system; its ImageSets apply to pods of every namespace
    #[arg(long, value_name = "NAMESPACE", default_value = "airside-images")]
    namespace: String,

    /// Address on which the API server reaches the webhook, over TLS
    #[arg(long, value_name = "ADDR", default_value = "0.0.0.0:8443", value_parser = airside_serve::listen_address)]
    listen: SocketAddr,

    /// Registry to which the names of images that no set keeps on nodes are rewritten:
    /// HOST/docker.io/library/busybox:1
    #[arg(long, value_name = "HOST")]
    rewrite_to: Option<Rewrite>,

    /// Also place existing Deployments, StatefulSets and CronJobs that opted in, or whose namespace
    /// did
    #[arg(long)]
    workloads: bool,

    /// Lifetime of certificates in seconds, for tests
    #[arg(long, hide = true, value_name = "SECONDS")]
    certificates_last: Option<u64>,

    /// Print the webhook's manifests and exit
    #[arg(long, hide = true, requires = "image")]
    print_manifest: bool,

    /// Airside's own image, for --print-manifest
    #[arg(long, hide = true, value_name = "IMAGE")]
    image: Option<String>,

    #[command(flatten)]
    observing: Observing,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    if options.print_manifest {
        return print(options);
    }
    server::run_until_signal(&options.observing, async |shutdown| {
        serve(options, shutdown).await
    })
}

fn print(options: &Options) -> Result<()> {
    let admission = AdmissionInstall {
        namespace: options.namespace.clone(),
        image: options.image.clone().unwrap_or_default(),
        replicas: 2,
        rewrite: options.rewrite_to.clone(),
        workloads: options.workloads,
    };
    let text = admission.manifest()?.to_yaml()?;
    Ok(airside_app::printing::print(&text)?)
}

async fn serve(options: &Options, shutdown: CancellationToken) -> Result<()> {
    let listener = listeners::bind(options.listen, "--listen").await?;
    info!(address = %listener.local_addr()?, "admission webhook started");
    let settings = Settings {
        namespace: options.namespace.clone(),
        rules: Rules {
            rewrite: options.rewrite_to.clone(),
        },
        workloads: options.workloads,
        certificates_last: options.certificates_last.map(Duration::from_secs),
    };
    Ok(airside_image_admission::run(listener, settings, shutdown).await?)
}
