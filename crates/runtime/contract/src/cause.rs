//! Causes: the part of an observation or an error that decides. The words beside it are for people.

use std::collections::BTreeMap;

use airside_pulls::PullProgress;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// The cause of a wait, a refusal or an end, as far as the runtime knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Cause {
    /// The worker has no room for one more container.
    NoRoom { shortage: Shortage },
    /// The step used more memory than it may. Placed again, it would end the same way.
    OutOfMemory,
    /// The cluster took the container away: eviction, preemption, a node that was drained or is
    /// gone.
    Evicted,
    /// The server, an administrator or the namespace's owner removed the container.
    Removed,
    /// The container's first process ended by itself. That alone explains nothing.
    Exited { code: Option<i32> },
    /// A signal ended the container's first process.
    Killed { signal: i32 },
    /// The worker pulls the image. A peer reports these numbers: they are not bounded yet.
    Pulling { progress: PullProgress },
    /// The image does not exist.
    ImageMissing,
    /// The registry does not give the image to this team.
    ImageRefused,
    /// The container's first process cannot be started.
    CannotStart,
    /// Any other cause, among them those of a peer that knows more of them.
    #[default]
    #[serde(other)]
    Other,
}

/// A resource of which a worker has too little.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shortage {
    /// The worker's own limit on pods is reached.
    Pods,
    /// A quota is used up. The amounts that must be freed are in thousandths, by resource.
    Quota(BTreeMap<String, i64>),
    /// No node has enough of these resources left, or takes one more pod.
    Nodes { resources: Vec<String>, pods: bool },
    /// The step asks for more than there may ever be.
    Never,
}

/// Reads a cause from a peer: one that this program does not know is [`Cause::Other`].
pub fn cause_from_peer<'de, D: Deserializer<'de>>(from: D) -> Result<Cause, D::Error> {
    let value = Value::deserialize(from)?;
    Ok(Cause::deserialize(value).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use airside_pulls::PullStage;
    use serde_json::json;

    use super::*;
    use crate::Observed;

    fn read(cause: Option<Value>) -> Observed {
        let mut gone = json!({"gone": {"node": "n1", "reason": "words"}});
        if let Some(cause) = cause {
            gone["gone"]["cause"] = cause;
        }
        serde_json::from_value(gone).expect("an observation")
    }

    fn gone(cause: Cause) -> Observed {
        let (node, reason) = (Some("n1".to_owned()), "words".to_owned());
        Observed::Gone {
            node,
            reason,
            cause,
        }
    }

    #[test]
    fn an_old_peers_message_without_a_cause_has_another() {
        assert_eq!(read(None), gone(Cause::Other));
    }

    #[test]
    fn a_newer_peers_cause_that_is_not_known_is_another() {
        for cause in [
            json!({"kind": "struck_by_lightning", "volts": 7}),
            json!({"kind": "no_room", "shortage": {"patience": 1}}),
            json!({"kind": "killed"}),
            json!("evicted"),
            json!(null),
            json!([1]),
        ] {
            assert_eq!(read(Some(cause.clone())), gone(Cause::Other), "{cause}");
        }
    }

    #[test]
    fn an_old_peer_reads_a_message_with_a_cause() {
        #[derive(Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum Before {
            Gone {
                node: Option<String>,
                reason: String,
            },
        }
        let said = serde_json::to_value(gone(Cause::OutOfMemory)).expect("JSON");
        let Before::Gone { node, reason } = serde_json::from_value(said).expect("an observation");
        assert_eq!((node.as_deref(), reason.as_str()), (Some("n1"), "words"));
    }

    #[test]
    fn every_cause_crosses_the_wire() {
        let needed = BTreeMap::from([("requests.cpu".to_owned(), 500)]);
        for cause in [
            Cause::NoRoom {
                shortage: Shortage::Quota(needed),
            },
            Cause::NoRoom {
                shortage: Shortage::Nodes {
                    resources: vec!["cpu".to_owned()],
                    pods: true,
                },
            },
            Cause::NoRoom {
                shortage: Shortage::Pods,
            },
            Cause::OutOfMemory,
            Cause::Evicted,
            Cause::Removed,
            Cause::Pulling {
                progress: PullProgress::start(PullStage::Unpacking, 3, 9),
            },
            Cause::Exited { code: Some(3) },
            Cause::Exited { code: None },
            Cause::Killed { signal: 9 },
            Cause::ImageMissing,
            Cause::ImageRefused,
            Cause::CannotStart,
            Cause::Other,
        ] {
            let said = serde_json::to_string(&gone(cause.clone())).expect("JSON");
            let heard: Observed = serde_json::from_str(&said).expect("an observation");
            assert_eq!(heard, gone(cause), "{said}");
        }
    }
}
