//! Deletion of a set: what it still waits for, and the status that reports it.

use std::{collections::BTreeSet, time::Instant};

use airside_image_rules::{ImageSet, ImageSetStatus, selection};
use jiff::Timestamp;
use kube::ResourceExt as _;

use crate::{
    agents::{self, Agents},
    status::{SetCondition, condition, names},
    world::ClusterSnapshot,
};

/// Keeps a set until its images are off the nodes.
pub(crate) const FINALIZER: &str = "images.airside.dev/on-nodes";

/// Number of images that the status lists: a set of many images may be on thousands of nodes.
const LISTED: usize = 100;
/// API servers refuse events that say more than 1024 bytes.
const LONGEST_WORDS: usize = 700;

/// Images of a deleted set that nodes still have.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct HeldImages {
    /// Images on nodes that can let go and have not yet, as `image on node`.
    pub(crate) waiting: Vec<String>,
    /// Images on nodes that cannot act: not ready, or without an agent.
    pub(crate) unreachable: Vec<String>,
}

pub(crate) fn is_being_deleted(set: &ImageSet) -> bool {
    set.metadata.deletion_timestamp.is_some()
}

/// Nodes that are gone hold nothing; what another set wants there is not waited for.
pub(crate) fn held(
    set: &ImageSet,
    moment: &ClusterSnapshot,
    agents: &Agents,
    clock: Instant,
) -> HeldImages {
    let mut held = HeldImages::default();
    let names = names(set);
    for node in &moment.nodes {
        let name = node.name_any();
        let listed = moment
            .node_images
            .get(&name)
            .and_then(|it| it.status.as_ref());
        let others: BTreeSet<&str> = moment
            .sets
            .iter()
            .filter(|other| !is_being_deleted(other) && selection::selects(&other.spec, node))
            .flat_map(|other| crate::status::names(other))
            .collect();
        let can_act = agents::is_ready(node) && agents.is_alive(&name, clock);
        for image in listed.into_iter().flat_map(|status| &status.images) {
            let image = image.image.as_str();
            if !names.contains(image) || others.contains(image) {
                continue;
            }
            let what = format!("{image} on {name}");
            if can_act {
                held.waiting.push(what);
            } else {
                held.unreachable.push(what);
            }
        }
    }
    held
}

impl HeldImages {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.unreachable.is_empty()
    }

    fn all(&self) -> impl Iterator<Item = &String> {
        self.waiting.iter().chain(&self.unreachable)
    }

    /// Returns a list that is short enough for the message of an event.
    pub(crate) fn words(&self) -> String {
        let (mut words, mut left) = (String::new(), self.all().count());
        for what in self.all() {
            if words.len() + what.len() > LONGEST_WORDS {
                break;
            }
            if !words.is_empty() {
                words.push_str(", ");
            }
            words.push_str(what);
            left -= 1;
        }
        match (left, words.is_empty()) {
            (0, _) => words,
            (more, true) => format!("{more} in all, with long names"),
            (more, false) => format!("{words} and {more} more"),
        }
    }

    fn listed(&self) -> Vec<String> {
        let mut listed: Vec<String> = self.all().take(LISTED).cloned().collect();
        let more = self.all().count() - listed.len();
        if more > 0 {
            listed.push(format!("and {more} more"));
        }
        listed
    }
}

/// The set's status while nodes still have something of it. What was known of its images stays.
pub(crate) fn status(set: &ImageSet, held: &HeldImages, now: Timestamp) -> ImageSetStatus {
    let verdict = SetCondition {
        kind: "Ready",
        is_true: false,
        reason: "Deleting",
        message: if held.is_empty() {
            "the set is being deleted, and no node has its images".to_owned()
        } else {
            format!(
                "the set is being deleted, and nodes still have images: {}",
                held.words()
            )
        },
    };
    let mut status = set.status.clone().unwrap_or_default();
    let ready = condition(verdict, set, now);
    status.conditions.retain(|it| it.type_ != ready.type_);
    status.conditions.push(ready);
    status.left_behind = held.listed();
    status
}

#[cfg(test)]
mod tests;
