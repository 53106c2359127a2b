//! Places steps on this machine: namespaces, overlayfs and control groups, as root or as an
//! ordinary user ([`Rootless`]).
//!
//! ```text
//! LocalRuntime ── prepares folders ──► helper (own process) ── libcontainer ──► shim, PID 1
//!      └──────────── pidfd ───────────────────────────────────────────────────────┘
//! ```
//!
//! The container is the machine's: it survives the server, and the next server finds
//! it again by what is on disk ([`container`]). The runtime never talks to the shim and never looks
//! into the container.

#![allow(
    unsafe_code,
    reason = "mounts, user namespaces and child processes are system calls without a safe wrapper"
)]

mod bundle;
mod capabilities;
mod cgroup;
mod container;
mod end;
mod error;
mod examine;
pub mod helper;
mod host;
mod host_etc;
mod ids;
mod isolation;
mod leavings;
mod make;
mod network;
mod network_files;
mod obstacle;
mod oci;
mod overlay_probe;
mod plan;
mod prepare;
mod presence;
mod process;
mod remove;
mod rootless;
mod runtime;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use airside_model::{InstallationId, WorkerName};
use airside_rootfs::Images;
use airside_volumes::Volumes;

pub use error::Error;
pub use examine::{Means, MeansState, examine};
pub use host::is_shown_to_steps;
pub use ids::{BadIdRange, IdRange};
pub use isolation::{IsolationOptions, NetworkChoice, can_show_other_ids};
pub use leavings::{DATA_LOCK, Leavings, RUN_FOLDER, Thing, Why, leavings};
pub use network::{BadPool, HostAccess, MetadataAccess, Pool};
pub use oci::Maker;
pub use rootless::{Obstacle, Rootless};
pub use runtime::LocalRuntime;

/// The carrier of inputs into containers and of outputs out of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carriage {
    /// Volumes lie on this machine: inputs are mounted, outputs are sealed in place.
    #[default]
    Mounted,
    /// The shim streams volumes from and to a hub elsewhere, as it does in a pod. It also puts an
    /// image together that is an artifact.
    Streamed,
}

#[derive(Clone)]
pub struct LocalOptions {
    /// Containers live below it. On the same file system as the volumes, since sealing is a rename.
    pub root: PathBuf,
    pub worker: WorkerName,
    pub installation: InstallationId,
    /// The shim on this machine: a static binary.
    pub shim: PathBuf,
    /// Program and leading arguments of the helper: `airside rt`.
    pub helper: Vec<OsString>,
    pub volumes: Volumes,
    pub images: Images,
    /// The hub's socket. Steps get the folder that it is in, which must hold nothing else.
    pub hub_socket: PathBuf,
    pub isolation: IsolationOptions,
    pub carriage: Carriage,
    /// The data folder, if it is of use to this process only and goes with it: its remains after a
    /// kill are rubbish.
    pub temporary: Option<PathBuf>,
}

impl LocalOptions {
    /// The folder of the hub's socket, and its name in there.
    fn hub_socket(&self) -> Result<(&Path, &str), Error> {
        let socket = &self.hub_socket;
        let name = socket.file_name().and_then(|name| name.to_str());
        socket.parent().zip(name).ok_or_else(|| Error::BadName {
            name: socket.display().to_string(),
        })
    }
}

/// Returns the path of the shim inside a container.
fn shim_path() -> &'static str {
    "/.airside/shim"
}
