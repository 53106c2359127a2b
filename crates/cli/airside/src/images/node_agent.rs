//! `airside images node-agent`: the DaemonSet of the node agent alone, as YAML.

use airside_image_install::NodeAgentInstall;
use airside_kube_objects::DEFAULT_IMAGE;
use anyhow::Result;
use clap::Args;

pub(crate) const EXAMPLES: &str = "\
Examples:
  # Keep images on nodes without an operator; the custom resources must exist
  airside images node-agent --no-operator | kubectl apply -f -";

#[derive(Args)]
pub(crate) struct Options {
    /// Airside's own image or the agent's small one, as nodes pull it
    #[arg(long, value_name = "IMAGE", default_value = DEFAULT_IMAGE)]
    image: String,

    /// Namespace of the DaemonSet, which must exist
    #[arg(long, value_name = "NAMESPACE", default_value = "airside-images")]
    namespace: String,

    /// Socket of containerd on every node
    #[arg(
        long,
        value_name = "PATH",
        default_value = "/run/containerd/containerd.sock"
    )]
    runtime_socket: String,

    /// Directory on every node's file system that has the images, to measure disk usage
    #[arg(long, value_name = "DIR", default_value = "/var/lib/containerd")]
    image_root: String,

    /// Pull without asking an operator
    #[arg(long)]
    no_operator: bool,

    /// Remove everything of Airside from the nodes instead of keeping images there
    #[arg(long)]
    clean: bool,

    /// Further options of `airside node`
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<String>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let agent = NodeAgentInstall {
        runtime_socket: options.runtime_socket.clone(),
        image_root: options.image_root.clone(),
        has_operator: !options.no_operator,
        options: options.options.clone(),
        clean: options.clean,
        ..NodeAgentInstall::new(&options.namespace, &options.image)
    };
    Ok(airside_app::printing::print(&agent.manifest()?.to_yaml()?)?)
}
