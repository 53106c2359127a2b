//! `airside images`: declared images on chosen nodes.

mod admission;
mod install;
mod mirror;
mod node_agent;
mod operator;
mod status;

use anyhow::Result;
use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum Images {
    /// Prints everything that a cluster needs for it, for `kubectl apply`
    #[command(before_long_help = install::EXAMPLES)]
    Install(Box<install::Options>),
    /// Asks registries what tags mean, and tells in each ImageSet what is where
    #[command(before_long_help = operator::EXAMPLES)]
    Operator(operator::Options),
    /// Shows what is on which node, and what is on its way
    #[command(before_long_help = status::EXAMPLES)]
    Status(status::Options),
    /// Prints the DaemonSet of the node agent, its account and its rights, without the other parts
    #[command(before_long_help = node_agent::EXAMPLES)]
    NodeAgent(node_agent::Options),
    /// Places pods that use images kept on nodes: the webhook of the cluster's API server
    #[command(before_long_help = admission::EXAMPLES)]
    Admission(Box<admission::Options>),
    /// Serves what registries have, fetched once
    #[command(before_long_help = mirror::EXAMPLES)]
    Mirror(Box<mirror::Options>),
}

pub(crate) fn run(command: &Images) -> Result<()> {
    match command {
        Images::Install(options) => install::run(options),
        Images::Operator(options) => operator::run(options),
        Images::Status(options) => status::run(options),
        Images::NodeAgent(options) => node_agent::run(options),
        Images::Admission(options) => admission::run(options),
        Images::Mirror(options) => mirror::run(options),
    }
}
