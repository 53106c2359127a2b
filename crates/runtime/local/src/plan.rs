//! The plan of a container, which the server gives the helper.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{ids::IdRange, network::StepNetwork, oci::Maker};

/// The mounts that make up the root file system, in order, and what surrounds them. The rest is in
/// the bundle.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub mounts: Vec<PlannedMount>,
    pub shim: PathBuf,
    /// The folder with the hub's socket.
    pub hub: PathBuf,
    /// Ids of the container's users outside; without them, the same as inside.
    pub ids: Option<IdRange>,
    /// Network of the container; without it, the machine's.
    pub network: Option<StepNetwork>,
    pub maker: Maker,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PlannedMount {
    /// Inside of the root file system; `/` is the root itself.
    pub at: PathBuf,
    pub what: Source,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Source {
    /// An overlay; `lower` has the topmost folder first. The upper folder holds ids as they are
    /// outside, the lower ones as they are inside.
    Overlay {
        lower: Vec<PathBuf>,
        upper: PathBuf,
        work: PathBuf,
    },
    /// Holds ids as they are inside.
    Bind { from: PathBuf },
}
