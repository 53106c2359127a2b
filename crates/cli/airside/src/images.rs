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
    /// Print the manifests of the image system, for `kubectl apply`
    #[command(after_long_help = install::EXAMPLES)]
    Install(Box<install::Options>),
    /// Run the operator, which resolves tags and grants pulls
    #[command(after_long_help = operator::EXAMPLES)]
    Operator(operator::Options),
    /// Show which images are on which nodes, and which are on their way
    #[command(after_long_help = status::EXAMPLES)]
    Status(status::Options),
    /// Print the manifests of the node agent alone
    #[command(after_long_help = node_agent::EXAMPLES)]
    NodeAgent(node_agent::Options),
    /// Run the webhook that places pods on nodes with their images
    #[command(after_long_help = admission::EXAMPLES)]
    Admission(Box<admission::Options>),
    /// Run a mirror of registries, which fetches each image once
    #[command(after_long_help = mirror::EXAMPLES)]
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
