//! `airside node`: the agent of one node.

use airside_node_agent::NodeOptions;
use anyhow::Result;
use clap::Args;
use tokio_util::sync::CancellationToken;

use airside_app::{options::Observing, server};

pub(crate) const EXAMPLES: &str = "\
Examples:
  # Install the agent that keeps images on each node
  airside images install | kubectl apply --server-side -f -

  # Install the agent that proxies the server's registry on each node
  airside k8s node-agent --registry http://ci.example.com:5000 --image ci.example.com/airside:1 \\
    | kubectl apply -f -

  # Keep the images of the cluster's ImageSets on this node, by hand
  airside node --images --node n1";

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    node: NodeOptions,

    #[command(flatten)]
    observing: Observing,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    server::run_until_signal(&options.observing, async |shutdown| {
        serve(options, shutdown).await
    })
}

async fn serve(options: &Options, shutdown: CancellationToken) -> Result<()> {
    Ok(options.node.run(shutdown).await?)
}
