//! Whether containerd really asks this node's port: mirrors that are never asked look like mirrors that work.
//!
//! containerd is told to pull an image of a host that cannot exist, which our own file says is at our port. Whether it comes
//! shows that it reads the folder that we write; nothing is pulled, and the file goes again. A list of folders as
//! `config_path`, a folder that is not read and a port that is not reached all show here.

use std::{collections::HashSet, time::Duration};

use airside_mirror::{Asked, What};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use parking_lot::Mutex;

use super::hosts::{Hosts, Tags, text};
use crate::runtime::Runtime;

/// No registry can have this name.
const HOST: &str = "mirror-test.airside.invalid";
const REPOSITORY: &str = "probe";
const PATIENCE: Duration = Duration::from_secs(20);
/// What the condition is called in `NodeImages`.
pub const MIRROR_USED: &str = "MirrorUsed";

/// What came to the port of what was tried.
#[derive(Debug, Default)]
pub(crate) struct Probe {
    seen: Mutex<HashSet<String>>,
}

impl Probe {
    /// Whether a request is one of ours.
    pub(crate) fn saw(&self, asked: &Asked) -> bool {
        if asked.repository.host() != HOST {
            return false;
        }
        if let What::Manifest(airside_mirror::Which::Tag(tag)) = &asked.what {
            self.seen.lock().insert(tag.clone());
        }
        true
    }

    /// Tries it once.
    pub(crate) async fn run(&self, hosts: &Hosts, port: u16, runtime: &Runtime) -> Condition {
        let tag = format!("{:016x}", rand::random::<u64>());
        let own = format!("http://127.0.0.1:{port}");
        let written = hosts.write_one(HOST, &text(Some(&own), port, Tags::Mirror, None));
        let said = match written {
            Ok(_) => {
                let image = format!("{HOST}/{REPOSITORY}:{tag}");
                let said = tokio::time::timeout(PATIENCE, pull(runtime, image)).await;
                said.unwrap_or_else(|_| "it did not answer".to_owned())
            }
            Err(error) => format!("{HOST}'s file cannot be written: {error}"),
        };
        if let Err(error) = hosts.remove(HOST) {
            tracing::warn!(%error, "the file of the mirror's own test stays");
        }
        let is_used = self.seen.lock().remove(&tag);
        condition(is_used, &said)
    }
}

/// It always fails; what it says matters where nobody came.
async fn pull(runtime: &Runtime, image: String) -> String {
    match runtime.pull(&image, None).await {
        Ok(_) => "it says that it was pulled".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn condition(is_used: bool, said: &str) -> Condition {
    let (status, reason, message) = match is_used {
        true => (
            "True",
            "Asked",
            "containerd asks this node's port before registries".to_owned(),
        ),
        false => (
            "False",
            "NotAsked",
            format!(
                "containerd did not ask this node's port; its config_path must be one folder, the one that the agent \
                 writes to (it said: {said})"
            ),
        ),
    };
    Condition {
        type_: MIRROR_USED.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message,
        last_transition_time: Time(Timestamp::now()),
        observed_generation: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said() {
        let used = condition(true, "");
        assert_eq!(
            (used.status.as_str(), used.reason.as_str()),
            ("True", "Asked")
        );
        let unused = condition(false, "no such host");
        assert_eq!(unused.status, "False");
        assert!(
            unused.message.contains("no such host"),
            "{}",
            unused.message
        );
    }
}
