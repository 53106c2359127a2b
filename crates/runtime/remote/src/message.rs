//! What a server and an agent say after the agent has joined.

use airside_model::Handle;
use airside_runtime::{Observation, PlacementSpec};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum AgentMessage {
    /// Its runtime saw something: first all that is there, then every change.
    Saw {
        observation: Observation,
    },
    /// What it was asked under this number came to this. What its runtime saw on the way has been said before.
    Answer {
        id: u64,
        answer: RuntimeAnswer,
    },
    Heartbeat,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum ServerMessage {
    /// The agent is let in, as this.
    Welcome {
        /// The version of the server's program, for words.
        version: String,
        team: Option<String>,
        tags: Vec<String>,
    },
    /// Only where `retry` is set may it come again.
    Refused {
        reason: String,
        retry: bool,
    },
    Ask {
        id: u64,
        ask: RuntimeRequest,
    },
    Heartbeat,
}

/// The verbs of a runtime.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuntimeRequest {
    Place(Box<PlacementSpec>),
    Destroy(Handle),
    List,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuntimeAnswer {
    Placed {
        uid: Option<String>,
    },
    Destroyed,
    Listed(Vec<(Handle, Option<String>)>),
    /// Asking again later may work.
    Unavailable {
        message: String,
    },
    /// Asking again will not help.
    Refused {
        message: String,
    },
}
