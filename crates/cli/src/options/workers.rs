//! Where steps run.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
};

use anyhow::{Result, bail};
use clap::Args;

use crate::data::DataFolder;

#[derive(Args)]
#[command(next_help_heading = "Workers")]
pub(crate) struct WorkerOptions {
    /// Run steps on this machine too, in containers; needs root [default: true with `up`, false with
    /// `web`]
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub(crate) local_worker: Option<bool>,

    /// Kubernetes workers: a YAML file with a list of targets (see docs/kubernetes.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) targets: Option<PathBuf>,

    /// Where the hub listens, for shims [default: all addresses with --targets, else loopback; a free
    /// port on the first start, the same one ever after]
    #[arg(long, value_name = "ADDR")]
    hub_listen: Option<SocketAddr>,

    /// The shim: a static binary that becomes the first process of every local step [default:
    /// airside-shim beside this program]
    #[arg(long, value_name = "FILE")]
    shim: Option<PathBuf>,
}

impl WorkerOptions {
    pub(crate) fn hub_address(&self, data: &DataFolder) -> SocketAddr {
        self.hub_listen.unwrap_or_else(|| {
            let ip = match self.targets {
                Some(_) => Ipv4Addr::UNSPECIFIED,
                None => Ipv4Addr::LOCALHOST,
            };
            SocketAddr::new(IpAddr::V4(ip), data.hub_port().unwrap_or(0))
        })
    }

    pub(crate) fn find_shim(&self) -> Result<PathBuf> {
        let path = match &self.shim {
            Some(path) => path.clone(),
            None => std::env::current_exe()?.with_file_name("airside-shim"),
        };
        if !path.is_file() {
            bail!(
                "there is no shim at {}; build it with `make build`, or say where it is with --shim",
                path.display()
            );
        }
        Ok(path.canonicalize()?)
    }
}
