//! Messages between a server and an agent that has joined.

use airside_model::Handle;
use airside_runtime::{Cause, Observation, PlacementSpec, cause_from_peer};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum AgentMessage {
    /// The agent's runtime saw something: first all that is there, then every change.
    Saw {
        observation: Observation,
    },
    /// The answer to the request of this number. Observations from before it have been sent
    /// already.
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
    /// The server refuses the agent, which may come again only if `retry` is set.
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
    /// A later request may succeed.
    Unavailable {
        message: String,
        #[serde(default, deserialize_with = "cause_from_peer")]
        cause: Cause,
    },
    /// No later request will succeed.
    Refused {
        message: String,
        #[serde(default, deserialize_with = "cause_from_peer")]
        cause: Cause,
    },
}

#[cfg(test)]
mod tests {
    use airside_runtime::Observed;
    use serde_json::json;

    use super::*;

    /// A peer without causes, and one with more of them, are both understood.
    #[test]
    fn a_cause_that_is_absent_or_unknown_is_another() {
        let known = json!({"kind": "image_missing"});
        let unknown = json!({"kind": "struck_by_lightning"});
        for (cause, expected) in [
            (None, Cause::Other),
            (Some(unknown), Cause::Other),
            (Some(known), Cause::ImageMissing),
        ] {
            let mut refused = json!({"message": "no"});
            let mut doomed = json!({"reason": "no"});
            if let Some(cause) = &cause {
                refused["cause"] = cause.clone();
                doomed["cause"] = cause.clone();
            }
            let answer = json!({"say": "answer", "id": 1, "answer": {"refused": refused}});
            let answer: AgentMessage = serde_json::from_value(answer).expect("an answer");
            let AgentMessage::Answer {
                answer: RuntimeAnswer::Refused { cause: found, .. },
                ..
            } = answer
            else {
                panic!("{answer:?}")
            };
            assert_eq!(found, expected);
            let saw = json!({"say": "saw", "observation": {"handle": "h", "observed": {"doomed": doomed}}});
            let saw: AgentMessage = serde_json::from_value(saw).expect("an observation");
            let AgentMessage::Saw { observation } = saw else {
                panic!("{saw:?}")
            };
            let reason = "no".to_owned();
            let cause = expected;
            assert_eq!(observation.observed, Observed::Doomed { reason, cause });
        }
    }
}
