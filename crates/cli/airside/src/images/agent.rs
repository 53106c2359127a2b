//! `airside images agent`: the agent on each node, as YAML.

use airside_node_agent::ImagesAgent;
use anyhow::Result;
use clap::Args;

#[derive(Args)]
pub(crate) struct Options {
    /// Print the DaemonSet, its account and its rights
    #[arg(long, required = true)]
    print_manifest: bool,

    /// Airside's own image or the agent's small one, as nodes find it
    #[arg(long, value_name = "IMAGE", default_value = "airside.local/node:dev")]
    image: String,

    /// Where it goes; it must exist
    #[arg(long, value_name = "NAMESPACE", default_value = "airside-images")]
    namespace: String,

    /// Of every node's containerd
    #[arg(
        long,
        value_name = "PATH",
        default_value = "/run/containerd/containerd.sock"
    )]
    runtime_socket: String,

    /// A folder of every node, on the file system that images are on
    #[arg(long, value_name = "DIR", default_value = "/var/lib/containerd")]
    image_root: String,

    /// There is no operator to ask
    #[arg(long)]
    no_operator: bool,

    /// Takes everything of the agents away from the nodes, instead of keeping images there
    #[arg(long)]
    clean: bool,

    /// Further options of `airside node`
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<String>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let agent = ImagesAgent {
        runtime_socket: options.runtime_socket.clone(),
        image_root: options.image_root.clone(),
        has_operator: !options.no_operator,
        options: options.options.clone(),
        clean: options.clean,
        ..ImagesAgent::new(&options.namespace, &options.image)
    };
    Ok(airside_app::printing::print(&agent.manifest()?)?)
}
