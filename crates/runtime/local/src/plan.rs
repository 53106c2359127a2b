//! What the server asks of the helper.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{ids::IdRange, network::StepNetwork, oci::Maker};

/// The mounts that make up the root file system, in order, and what surrounds them. The rest is in the
/// bundle.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub mounts: Vec<PlannedMount>,
    pub shim: PathBuf,
    /// The folder with the hub's socket.
    pub hub: PathBuf,
    /// Who the container's users are outside; without it, the same.
    pub ids: Option<IdRange>,
    /// Where the container's network leads; without it, it has the machine's.
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
    /// `lower` topmost first. The upper folder holds ids as they are outside, the lower ones as they are
    /// inside.
    Overlay {
        lower: Vec<PathBuf>,
        upper: PathBuf,
        work: PathBuf,
    },
    /// Holds ids as they are inside.
    Bind { from: PathBuf },
}
