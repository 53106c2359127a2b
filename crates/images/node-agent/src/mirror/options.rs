//! The mirror's half of the agent on a command line.

use std::{
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
};

use airside_mirror::{
    Registry,
    node::{MirrorSettings, ShareSettings, Tags, Told},
};

#[derive(Clone, Debug, clap::Args)]
pub struct MirrorOptions {
    /// A registry that containerd asks this node for first: HOST, HOST=URL, or * for all
    #[arg(long, value_name = "REGISTRY")]
    pub mirror_registry: Vec<Registry>,

    /// The cluster's mirror, such as http://airside-images-mirror.airside-images.svc:5000
    #[arg(long, value_name = "URL", requires = "mirror_registry")]
    mirror: Option<String>,

    /// Where containerd finds it: the node's loopback has the same port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:5001")]
    mirror_listen: SocketAddr,

    /// Lets the mirror say what tags mean, also while a registry is away
    #[arg(long, requires = "mirror_registry")]
    mirror_tags: bool,

    /// containerd's folder of registries, its config_path
    #[arg(long, value_name = "DIR", default_value = "/etc/containerd/certs.d")]
    mirror_certs: PathBuf,

    /// Leaves that folder alone: pods name this node's port themselves, as localhost:5001/HOST/NAME
    #[arg(long, requires = "mirror_registry")]
    no_mirror_files: bool,

    /// Certificates of your own authority, as PEM, by which registries are trusted, by containerd too
    #[arg(long, value_name = "FILE", requires = "mirror_registry")]
    mirror_ca: Option<PathBuf>,

    /// A headless service of all agents, which then give each other blobs
    #[arg(long, value_name = "NAME", requires_all = ["mirror_registry", "share_ip", "share_account"])]
    share: Option<String>,

    /// This agent's own address, as others reach it
    #[arg(long, value_name = "IP", env = "POD_IP")]
    share_ip: Option<IpAddr>,

    /// Where agents of other nodes ask
    #[arg(long, value_name = "PORT", default_value_t = 5002)]
    share_port: u16,

    /// A token of the agent's account for other agents
    #[arg(long, value_name = "FILE", default_value = "/run/airside/peers/token")]
    share_token: PathBuf,

    /// The account of all agents, system:serviceaccount:NAMESPACE:NAME
    #[arg(long, value_name = "NAME")]
    share_account: Option<String>,

    /// Takes away what it wrote for containerd, and ends
    #[arg(long)]
    pub mirror_clean: bool,
}

impl MirrorOptions {
    /// Nothing if there is nothing to do.
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
            tags: match self.mirror_tags {
                true => Tags::Mirror,
                false => Tags::Registry,
            },
            told: match self.no_mirror_files {
                true => Told::Nobody,
                false => Told::Containerd,
            },
            certs: self.mirror_certs.clone(),
            authorities: self.mirror_ca.clone(),
            runtime_socket: runtime_socket.to_owned(),
            share,
        })
    }
}
