//! `airside node`: the agent of one node.

use airside_node_agent::NodeOptions;
use anyhow::Result;
use clap::Args;
use tokio_util::sync::CancellationToken;

use airside_app::{options::Observing, server};

pub(crate) const EXAMPLES: &str = "\
Examples:
  airside k8s node-agent --registry http://ci.example.com:5000 --image ci.example.com/airside:1 | kubectl apply -f -
      one on each node of a cluster; this command is what it runs
  airside node --images --node n1
      keeps the images on this node that the cluster's sets want, by hand
";

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    node: NodeOptions,

    #[command(flatten)]
    observing: Observing,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    server::until_told(&options.observing, async |shutdown| {
        serve(options, shutdown).await
    })
}

async fn serve(options: &Options, shutdown: CancellationToken) -> Result<()> {
    Ok(options.node.run(shutdown).await?)
}
