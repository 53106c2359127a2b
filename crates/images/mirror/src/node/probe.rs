//! Probe that containerd asks this node's port: mirrors that are never asked look like mirrors that
//! work.
//!
//! containerd pulls an image of a host that cannot exist, which our own file maps to our port. Its
//! request shows that it reads the folder that we write; nothing is pulled, and the file is removed
//! again. A list of folders as `config_path`, a folder that is not read and a port that is not
//! reached all show here.

use std::{collections::HashSet, time::Duration};

use crate::{AskedThing, What};
use airside_containerd::Containerd;
use airside_model::chain;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use parking_lot::Mutex;

use super::hosts::{Hosts, Tags, WrittenHosts, text};

/// No registry can have this name.
const HOST: &str = "mirror-test.airside.invalid";
const REPOSITORY: &str = "probe";
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);
/// Name of the condition in `NodeImages`.
pub const MIRROR_USED: &str = "MirrorUsed";

/// Requests of probes that came to the port.
#[derive(Debug, Default)]
pub(crate) struct Probe {
    seen: Mutex<HashSet<String>>,
}

impl Probe {
    /// Returns true if a request is one of a probe.
    pub(crate) fn saw(&self, asked: &AskedThing) -> bool {
        if asked.repository.host() != HOST {
            return false;
        }
        if let What::Manifest(airside_oci::TagOrDigest::Tag(tag)) = &asked.what {
            self.seen.lock().insert(tag.to_string());
        }
        true
    }

    /// Tries it once.
    pub(crate) async fn run(&self, hosts: &Hosts, port: u16, runtime: &Containerd) -> Tried {
        let tag = format!("{:016x}", rand::random::<u64>());
        let own = format!("http://127.0.0.1:{port}");
        let written = hosts.write_one(HOST, &text(Some(&own), port, Tags::Mirror, None));
        let said = match written {
            Ok(_) => {
                let image = format!("{HOST}/{REPOSITORY}:{tag}");
                let said = tokio::time::timeout(PROBE_TIMEOUT, pull(runtime, image)).await;
                said.unwrap_or_else(|_| "it did not answer".to_owned())
            }
            Err(error) => format!("{HOST}'s file cannot be written: {}", chain(&error)),
        };
        if let Err(error) = hosts.remove(HOST) {
            tracing::warn!(error = %chain(&error), "test file of the mirror not removed");
        }
        Tried {
            came: self.seen.lock().remove(&tag),
            said,
        }
    }
}

/// The result of a try.
#[derive(Debug)]
pub(crate) struct Tried {
    /// containerd asked our port.
    came: bool,
    /// The words of containerd about the pull.
    said: String,
}

/// Pulls the image of a probe. It always fails; its message matters if no request came.
async fn pull(runtime: &Containerd, image: String) -> String {
    match runtime.pull(&image, None).await {
        Ok(_) => "it says that it was pulled".to_owned(),
        Err(error) => chain(&error),
    }
}

/// Returns the condition of the mirror: if containerd asks it, and the registries for which it does
/// not.
pub(crate) fn condition(tried: &Tried, told: &WrittenHosts) -> Condition {
    let Tried { came, said } = tried;
    let others = told.others.join(", ");
    let (status, reason, message) = if !*came {
        (
            "False",
            "NotAsked",
            format!(
                "containerd did not ask this node's port; its config_path must be one folder, the one that the agent \
                 writes to (it said: {said})"
            ),
        )
    } else if told.others.is_empty() {
        (
            "True",
            "Asked",
            "containerd asks this node's port before registries".to_owned(),
        )
    } else if told.written.is_empty() {
        (
            "False",
            "SetUpByOthers",
            format!(
                "another program has set up {others} in containerd's folder, which was left alone: no registry \
                 goes through the mirror here"
            ),
        )
    } else {
        (
            "True",
            "AskedForSome",
            format!(
                "containerd asks this node's port before {}; {others} is set up by another program and was left alone",
                told.written.join(", ")
            ),
        )
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

    fn said(came: bool, written: &[&str], others: &[&str]) -> Condition {
        let names = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
        let tried = Tried {
            came,
            said: "no such host".to_owned(),
        };
        let told = WrittenHosts {
            written: names(written),
            others: names(others),
        };
        condition(&tried, &told)
    }

    #[test]
    fn what_is_said() {
        for (came, written, others, status, reason) in [
            (true, &["a"][..], &[][..], "True", "Asked"),
            (true, &["a"], &["b"], "True", "AskedForSome"),
            (true, &[], &["b"], "False", "SetUpByOthers"),
            (false, &["a"], &[], "False", "NotAsked"),
        ] {
            let said = said(came, written, others);
            assert_eq!(
                (said.status.as_str(), said.reason.as_str()),
                (status, reason)
            );
            assert!(others.iter().all(|it| said.message.contains(it)));
        }
        let unused = said(false, &["a"], &[]).message;
        assert!(unused.contains("no such host"), "{unused}");
    }
}
