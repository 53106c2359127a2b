//! The mirror's half of the agent on a command line.

use std::{
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
};

use airside_mirror::{
    Registry,
    node::{MirrorSettings, PortClients, ShareSettings, Tags},
};

#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Mirror of registries")]
pub struct MirrorOptions {
    /// Registry that containerd asks through this node first: HOST, HOST=URL, or * for all. Can be
    /// repeated
    #[arg(long, value_name = "REGISTRY")]
    pub mirror_registry: Vec<Registry>,

    /// URL of the cluster's mirror, for example
    /// http://airside-images-mirror.airside-images.svc:5000
    #[arg(long, value_name = "URL", requires = "mirror_registry")]
    mirror: Option<String>,

    /// Address on which containerd reaches this node's mirror; the node's loopback has the same
    /// port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:5001", value_parser = airside_serve::listen_address)]
    mirror_listen: SocketAddr,

    /// Let the mirror resolve tags, also while a registry is unreachable
    #[arg(long, requires = "mirror_registry")]
    mirror_tags: bool,

    /// containerd's directory of registry hosts (its config_path)
    #[arg(long, value_name = "DIR", default_value = "/etc/containerd/certs.d")]
    mirror_certs: PathBuf,

    /// Leave containerd's directory unchanged: pods name this node's port themselves, as
    /// localhost:5001/HOST/NAME
    #[arg(long, requires = "mirror_registry")]
    no_mirror_files: bool,

    /// File with CA certificates (PEM) to trust for registries, by containerd too
    #[arg(long, value_name = "FILE", requires = "mirror_registry")]
    mirror_ca: Option<PathBuf>,

    /// Headless Service of all node agents, which then share blobs
    #[arg(long, value_name = "SERVICE", requires_all = ["mirror_registry", "share_ip", "share_account"])]
    share: Option<String>,

    /// Address of this agent, as other agents reach it
    #[arg(long, value_name = "IP", env = "POD_IP")]
    share_ip: Option<IpAddr>,

    /// Port on which agents of other nodes request blobs
    #[arg(long, value_name = "PORT", default_value_t = 5002)]
    share_port: u16,

    /// File with this agent's token for other agents
    #[arg(long, value_name = "FILE", default_value = "/run/airside/peers/token")]
    share_token: PathBuf,

    /// Service account of all node agents, system:serviceaccount:NAMESPACE:NAME
    #[arg(long, value_name = "ACCOUNT")]
    share_account: Option<String>,

    /// Remove the registry hosts that were written for containerd, and exit
    #[arg(long)]
    pub mirror_clean: bool,
}

impl MirrorOptions {
    /// Returns the settings; none if there is nothing to do.
    pub fn settings(&self, runtime_socket: &Path) -> Option<MirrorSettings> {
        if self.mirror_registry.is_empty() && !self.mirror_clean {
            return None;
        }
        let share = match (&self.share, self.share_ip, &self.share_account) {
            (Some(service), Some(own), Some(account)) => Some(ShareSettings {
                service: service.clone(),
                own,
                port: self.share_port,
                token: self.share_token.clone(),
                account: account.clone(),
            }),
            _ => None,
        };
        Some(MirrorSettings {
            registries: self.mirror_registry.clone(),
            mirror: self.mirror.clone(),
            listen: self.mirror_listen,
            tags: if self.mirror_tags {
                Tags::Mirror
            } else {
                Tags::Registry
            },
            told: if self.no_mirror_files {
                PortClients::Pods
            } else {
                PortClients::Containerd
            },
            certs: self.mirror_certs.clone(),
            authorities: self.mirror_ca.clone(),
            runtime_socket: runtime_socket.to_owned(),
            share,
        })
    }
}
