//! What the server asks of the helper.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The mounts that make up the root file system, in order. The rest is in the bundle.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub mounts: Vec<PlannedMount>,
    pub shim: PathBuf,
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
    /// `lower` topmost first.
    Overlay {
        lower: Vec<PathBuf>,
        upper: PathBuf,
        work: PathBuf,
    },
    Bind {
        from: PathBuf,
    },
}
