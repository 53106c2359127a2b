//! `airside images node-agent`: the DaemonSet of the node agent alone, as YAML.

use airside_image_install::NodeAgentInstall;
use airside_kube_objects::DEFAULT_IMAGE;
use anyhow::Result;
use clap::Args;

pub(crate) const EXAMPLES: &str = "\
Examples:
  airside images node-agent --no-operator | kubectl apply -f -
      nodes keep images without an operator; the custom resources must be there already
";

#[derive(Args)]
pub(crate) struct Options {
    /// Airside's own image or the agent's small one, by the name that nodes pull
    #[arg(long, value_name = "IMAGE", default_value = DEFAULT_IMAGE)]
    image: String,

    /// Namespace of the DaemonSet; it must exist
    #[arg(long, value_name = "NAMESPACE", default_value = "airside-images")]
    namespace: String,

    /// Socket of every node's containerd
    #[arg(
        long,
        value_name = "PATH",
        default_value = "/run/containerd/containerd.sock"
    )]
    runtime_socket: String,

    /// Directory of every node that is on the file system with the images
    #[arg(long, value_name = "DIR", default_value = "/var/lib/containerd")]
    image_root: String,

    /// Agents pull without asking an operator
    #[arg(long)]
    no_operator: bool,

    /// Agents remove everything of theirs from the nodes instead of keeping images
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
