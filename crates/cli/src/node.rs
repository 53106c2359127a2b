//! `airside node`: the agent of one node.

use std::net::SocketAddr;

use airside_node::Upstream;
use anyhow::{Context as _, Result};
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::{logging, options::Observing, server};

pub(crate) const EXAMPLES: &str = "\
Examples:
  airside k8s node-agent --registry http://ci.example.com:5000 --image ci.example.com/airside:1 | kubectl apply -f -
      one on each node of a cluster; this command is what it runs
";

#[derive(Args)]
pub(crate) struct Options {
    /// The server's registry (its --registry-listen), as nodes reach it: http://… or https://…
    #[arg(long, value_name = "URL")]
    registry: Upstream,

    /// Where container runtimes find it
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:5000")]
    listen: SocketAddr,

    #[command(flatten)]
    observing: Observing,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let (_, traces) = logging::start(&options.observing)?;
    let result = server::on_threads(serve(options));
    if let Some(traces) = traces {
        traces.finish();
    }
    result
}

async fn serve(options: &Options) -> Result<()> {
    let shutdown = CancellationToken::new();
    let stop = shutdown.clone();
    let (mut term, mut int) = (
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    );
    tokio::spawn(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        stop.cancel();
    });
    let listener = airside_hub::listen(options.listen).await.with_context(|| {
        format!(
            "cannot listen on {}; choose another address with --listen",
            options.listen
        )
    })?;
    info!(address = %listener.local_addr()?, registry = %options.registry, "images are passed on");
    let served = airside_node::serve(listener, options.registry.clone(), shutdown).await;
    served.context("cannot find out whom this machine trusts")
}
