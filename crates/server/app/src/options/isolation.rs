//! Options that say how steps on this machine are kept apart.

use airside_runtime_local::{
    HostAccess, IdRange, IsolationOptions, Maker, MetadataAccess, NetworkChoice, Pool,
};

#[derive(clap::Args, Clone)]
#[command(next_help_heading = "Steps on this machine")]
pub(crate) struct IsolationArgs {
    /// Program that makes containers: the built-in libcontainer, or a program with runc's command
    /// line
    #[arg(
        long,
        value_name = "libcontainer|PROGRAM",
        default_value = "libcontainer"
    )]
    local_runtime: Maker,

    /// Range of this machine's user and group ids that the users of unprivileged steps get
    #[arg(long, value_name = "FIRST:COUNT", default_value_t)]
    local_ids: IdRange,

    /// Network of steps: `own` gives each step its own; `machine` shares this machine's, with
    /// everything that listens on loopback
    #[arg(
        long,
        value_name = "own|machine",
        default_value = "own",
        value_parser = network,
    )]
    local_network: NetworkChoice,

    /// Addresses for steps, a /16 block [default: the first free one from 10.80.0.0/16 on]
    #[arg(long, value_name = "ADDR/16")]
    local_network_pool: Option<Pool>,

    /// Let steps connect to this machine's own addresses, except loopback
    #[arg(long)]
    local_host_access: bool,

    /// Let steps, checks and image pulls connect to link-local addresses (169.254.0.0/16), where
    /// clouds hand out this machine's credentials
    #[arg(long)]
    local_metadata_access: bool,

    /// Maximum number of processes and threads of one step
    #[arg(
        long,
        value_name = "N",
        default_value_t = IsolationOptions::default().processes,
        value_parser = clap::value_parser!(u32).range(16..),
    )]
    local_processes: u32,
}

impl IsolationArgs {
    pub(crate) fn choices(&self) -> IsolationOptions {
        IsolationOptions {
            ids: self.local_ids,
            network: self.local_network,
            pool: self.local_network_pool,
            host_access: if self.local_host_access {
                HostAccess::Allowed
            } else {
                HostAccess::Denied
            },
            metadata_access: if self.local_metadata_access {
                MetadataAccess::Allowed
            } else {
                MetadataAccess::Denied
            },
            processes: self.local_processes,
            maker: self.local_runtime.clone(),
        }
    }
}

fn network(text: &str) -> Result<NetworkChoice, String> {
    match text {
        "own" => Ok(NetworkChoice::Own),
        "machine" => Ok(NetworkChoice::Machine),
        _ => Err("must be `own` or `machine`".to_owned()),
    }
}
