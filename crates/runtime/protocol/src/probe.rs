//! What a shim that was sent to look at a machine (`airside-shim probe`) says about it. It claims nothing and dials
//! nobody; whoever sent it reads what it left.

use serde::{Deserialize, Serialize};

/// What a container there has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    pub ids: Ids,
    pub overlay: Overlay,
}

/// Whose user ids it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ids {
    /// The machine's: root in there is root.
    Shared,
    /// So many of its own, in a user namespace.
    Own(u64),
}

/// Whether file systems can be laid over each other in there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlay {
    Works,
    /// In the kernel's words.
    Refused(String),
    /// The container has no right to mount anything.
    Untried,
}
