//! Observations: what a runtime sees of a placement by itself, without asking the shim.

use airside_model::Handle;
use serde::{Deserialize, Serialize};

use crate::{Cause, cause::cause_from_peer};

/// The state of one container, as its runtime reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    pub handle: Handle,
    pub observed: Observed,
}

/// The observed state of a container. Its reason is for people; its cause decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observed {
    /// The container does not run yet. An empty reason means that nothing is noteworthy.
    Pending {
        reason: String,
        #[serde(default, deserialize_with = "cause_from_peer")]
        cause: Cause,
    },
    /// The container can never run: its image does not exist, say.
    Doomed {
        reason: String,
        #[serde(default, deserialize_with = "cause_from_peer")]
        cause: Cause,
    },
    /// The container runs.
    Started { node: Option<String> },
    /// The container still runs and is being taken away, by what the reason names.
    Leaving {
        node: Option<String>,
        reason: String,
    },
    /// The container's machine does not answer and may come back. The reason names the machine.
    Silent {
        node: Option<String>,
        reason: String,
    },
    /// The container runs no longer, or is no longer there.
    Gone {
        node: Option<String>,
        reason: String,
        #[serde(default, deserialize_with = "cause_from_peer")]
        cause: Cause,
    },
}

impl Observed {
    /// The state of a container of which there is nothing to say but that it does not run yet.
    pub fn pending() -> Self {
        Self::Pending {
            reason: String::new(),
            cause: Cause::Other,
        }
    }
}
