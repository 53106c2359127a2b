//! Options for workers, where steps run.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use airside_resource_types::{Mirror, Registries};
use airside_runtime::Image;
use anyhow::{Result, bail};
use clap::Args;

use super::duration;
use crate::{data::DataFolder, target_source::TargetSource};

#[derive(Args, Clone)]
#[command(next_help_heading = "Workers")]
pub(crate) struct WorkerOptions {
    /// Run steps in containers on this machine; requires root or a delegated control group
    /// [default: true, but false with `airside web`]
    #[arg(
        long,
        value_name = "true|false",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        hide_possible_values = true
    )]
    pub(crate) local_worker: Option<bool>,

    /// YAML file with Kubernetes workers, a list of targets; read again when it changes and on
    /// SIGHUP. See docs/kubernetes/targets.md
    #[arg(long, value_name = "FILE")]
    targets: Option<PathBuf>,

    /// Kubernetes worker, with the fields of the targets file:
    /// name=build,namespace=ci,hub_host=ci.example.com. Can be repeated; in a variable, separate
    /// targets with `;`
    #[arg(
        id = "target",
        long,
        value_name = "FIELD=VALUE,...",
        value_delimiter = ';'
    )]
    target: Vec<String>,

    /// Address on which the hub listens, which steps and agents dial [default: all addresses if
    /// there are targets, otherwise loopback; a free port on the first start, the same port
    /// afterwards]
    #[arg(long, value_name = "ADDR", value_parser = airside_serve::listen_address)]
    hub_listen: Option<SocketAddr>,

    /// Time without contact to an agent and to a step on its machine after which the step is given
    /// up
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "5m")]
    pub(crate) agent_lost_after: Duration,

    #[command(flatten)]
    pub(crate) local: LocalWorkerOptions,

    /// Registry whose images are already on the nodes: it is never asked for versions. Can be
    /// repeated
    #[arg(
        id = "registry-on-nodes",
        long,
        value_name = "REGISTRY",
        value_delimiter = ',',
        default_value = "airside.local"
    )]
    registries_on_nodes: Vec<String>,
}

/// The options of workers that are also those of `airside run`, which has no other worker than this
/// machine.
#[derive(Args, Clone)]
#[command(next_help_heading = "Workers")]
pub(crate) struct LocalWorkerOptions {
    /// File of the shim, a static program that is the first process of every local step [default:
    /// airside-shim beside this program]
    #[arg(long, value_name = "FILE")]
    shim: Option<PathBuf>,

    /// Image of the resource type `mock`, which is also what its `mirror_self` returns: a directory
    /// with an OCI image layout, or an image in a registry
    ///
    /// For trying out pipelines, and for Concourse's own test suite.
    #[arg(long, value_name = "IMAGE")]
    mock_image: Option<String>,

    /// Mirror to pull a registry's images from for steps on this machine, for example
    /// docker.io=mirror.example.com:5000; on loopback it is reached without TLS. Can be repeated
    #[arg(
        id = "registry-mirror",
        long,
        value_name = "REGISTRY=HOST",
        value_delimiter = ','
    )]
    pub(crate) registry_mirrors: Vec<Mirror>,
}

impl WorkerOptions {
    pub(crate) fn has_targets(&self) -> bool {
        self.targets.is_some() || !self.target.is_empty()
    }

    pub(crate) fn target_source(&self) -> TargetSource {
        TargetSource::new(self.targets.clone(), self.target.clone())
    }

    pub(crate) fn hub_address(&self, data: &DataFolder) -> SocketAddr {
        self.hub_listen.unwrap_or_else(|| {
            let ip = if self.has_targets() {
                Ipv4Addr::UNSPECIFIED
            } else {
                Ipv4Addr::LOCALHOST
            };
            SocketAddr::new(IpAddr::V4(ip), data.hub_port().unwrap_or(0))
        })
    }

    pub(crate) fn registries(&self) -> Registries {
        Registries {
            mirrors: self.local.registry_mirrors.iter().cloned().collect(),
            on_nodes: self.registries_on_nodes.clone(),
        }
    }
}

impl LocalWorkerOptions {
    /// A directory if there is one of that name, else an image in a registry.
    pub(crate) fn mock_image(&self) -> Option<Image> {
        let given = self.mock_image.as_deref()?;
        Some(match Path::new(given).canonicalize() {
            Ok(path) if path.is_dir() => Image::OciLayout {
                path: path.display().to_string(),
            },
            _ => Image::registry(given),
        })
    }

    pub(crate) fn find_shim(&self) -> Result<PathBuf> {
        find_shim(self.shim.as_deref())
    }
}

/// Returns the shim that was given, or the one beside this program.
pub fn find_shim(given: Option<&Path>) -> Result<PathBuf> {
    let path = match given {
        Some(path) => path.to_owned(),
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
