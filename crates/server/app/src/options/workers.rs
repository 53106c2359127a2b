//! Where steps run.

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
    /// Run steps on this machine too, in containers; needs root, or a control group of one's own
    /// [default: true with `up`, false with `web`]
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub(crate) local_worker: Option<bool>,

    /// Kubernetes workers: a YAML file with a list of targets (see docs/kubernetes/targets.md); read again when it changes
    /// and on SIGHUP
    #[arg(long, value_name = "FILE")]
    targets: Option<PathBuf>,

    /// A Kubernetes worker, as `name=build,namespace=ci,hub_host=ci.example.com`: the fields of the file. Can be
    /// given more than once (several in one variable: with `;` between them)
    #[arg(
        id = "target",
        long,
        value_name = "FIELD=VALUE,...",
        value_delimiter = ';'
    )]
    target: Vec<String>,

    /// Where the hub listens, for shims [default: all addresses with --targets or --target, else loopback; a free
    /// port on the first start, the same one ever after]
    #[arg(long, value_name = "ADDR")]
    hub_listen: Option<SocketAddr>,

    /// Give up steps on an agent's machine when neither the agent nor the step was heard of for so long
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "5m")]
    pub(crate) agent_lost_after: Duration,

    /// The shim: a static binary that becomes the first process of every local step [default:
    /// airside-shim beside this program]
    #[arg(long, value_name = "FILE")]
    shim: Option<PathBuf>,

    /// In what the resource type `mock` works, and what it hands out with `mirror_self`: a folder with an
    /// OCI image layout, or an image in a registry
    ///
    /// For trying pipelines, and for Concourse's own test suite.
    #[arg(long, value_name = "IMAGE")]
    mock_image: Option<String>,

    /// Pull what steps on this machine need from another place than its registry, as
    /// `docker.io=mirror.example.com:5000`; on loopback without TLS. Can be given more than once
    #[arg(
        id = "registry-mirror",
        long,
        value_name = "REGISTRY=PLACE",
        value_delimiter = ','
    )]
    pub(crate) registry_mirrors: Vec<Mirror>,

    /// Registries whose images are on nodes already: nobody is asked for their versions
    #[arg(
        id = "registry-on-nodes",
        long,
        value_name = "REGISTRY",
        value_delimiter = ',',
        default_value = "airside.local"
    )]
    registries_on_nodes: Vec<String>,
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
            let ip = match self.has_targets() {
                true => Ipv4Addr::UNSPECIFIED,
                false => Ipv4Addr::LOCALHOST,
            };
            SocketAddr::new(IpAddr::V4(ip), data.hub_port().unwrap_or(0))
        })
    }

    pub(crate) fn registries(&self) -> Registries {
        Registries {
            mirrors: self.registry_mirrors.iter().cloned().collect(),
            on_nodes: self.registries_on_nodes.clone(),
        }
    }

    /// A folder if there is one of that name, else an image in a registry.
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

/// The shim that was given, or the one beside this program.
pub(crate) fn find_shim(given: Option<&Path>) -> Result<PathBuf> {
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
