//! The report of a shim that was sent to look at a machine (`airside-shim probe`). It claims
//! nothing and dials no hub; its sender reads the file that it leaves.

use serde::{Deserialize, Serialize};

/// The properties of a container there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    pub ids: Ids,
    pub overlay: Overlay,
}

/// The user ids that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ids {
    /// The machine's: root in there is root.
    Shared,
    /// So many of its own, in a user namespace.
    Own(u64),
}

/// The ability to lay file systems over each other in there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlay {
    Works,
    /// The kernel refused, in its words.
    Refused(String),
    /// The container has no right to mount anything.
    Untried,
}
