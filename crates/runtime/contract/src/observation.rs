//! What a runtime sees of a placement by itself, without asking the shim.

use airside_model::Handle;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    pub handle: Handle,
    pub observed: Observed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observed {
    /// Not running yet, and why, in words for the build log (empty: nothing noteworthy).
    Pending {
        reason: String,
    },
    /// It can never run: the image does not exist, say.
    Doomed {
        reason: String,
    },
    Started {
        node: Option<String>,
    },
    /// It still runs, and somebody else is taking it away: by what, in words that stand alone.
    Leaving {
        node: Option<String>,
        reason: String,
    },
    /// The machine under it does not answer; it may yet come back. The reason names the machine.
    Silent {
        node: Option<String>,
        reason: String,
    },
    /// It runs no longer, or is no longer there.
    Gone {
        node: Option<String>,
        reason: String,
    },
}
