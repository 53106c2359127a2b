//! The plan of a node: a pure function from desired images, observed images and earlier failures to
//! the next steps.
//!
//! It is level-triggered: the same observation gives the same steps, whichever program was killed
//! in between. Steps are in the order in which they are safe: a label goes before its image, an
//! image comes before its label.

mod backoff;
mod disk;
mod garbage;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

pub use self::{
    backoff::Attempts,
    disk::{Disk, DiskRules, GarbageMode, GarbageOrder},
};
use airside_oci::Reference;

use crate::{
    NodeImageState,
    label::{self, Presence},
};

/// An image that a set wants on this node: desired state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesiredImage {
    /// Name of the image as pods use it.
    pub name: Reference,
    /// Name with the digest that it resolves to, from which the label is made.
    pub content: Reference,
    /// Id of the content in the container runtime.
    pub id: String,
    pub size: u64,
    pub pinned: bool,
    pub priority: i32,
    pub failures_before_error: u32,
}

/// An image that the container runtime has: observed state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedImage {
    pub id: String,
    pub names: Vec<Reference>,
    pub size: u64,
    /// Owner of the image's pin.
    pub pin: Pin,
    /// Time at which the agent pulled it; none if another program did.
    pub pulled: Option<Timestamp>,
    /// True if a container uses it.
    pub in_use: bool,
}

/// Owner of the pin that keeps an image from the kubelet's garbage collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pin {
    #[default]
    None,
    Ours,
    Others,
}

/// Desired and observed state of one node at one time.
#[derive(Clone, Debug)]
pub struct PlanInput<'a> {
    pub now: Timestamp,
    pub desired: &'a [DesiredImage],
    pub observed: &'a [ObservedImage],
    /// Earlier pulls, by the image's content.
    pub attempts: &'a BTreeMap<String, Attempts>,
    /// Contents that are being pulled.
    pub pulling: &'a BTreeSet<String>,
    /// Contents whose pulls may not begin yet, because the operator holds them back. They take
    /// neither a place among pulls nor room.
    pub held: &'a BTreeSet<String>,
    pub disk: Disk,
    /// True from the high mark on until the low mark is reached: images are being removed.
    pub collecting: bool,
    pub rules: &'a DiskRules,
    pub pulls_at_once: usize,
}

/// One change of the node's images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Removes an image, after its label.
    Remove {
        id: String,
    },
    Unpin {
        id: String,
    },
    Pin {
        id: String,
    },
    Pull(DesiredImage),
}

/// Reason why an image is neither present nor being pulled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Other images are pulled first.
    Turn,
    /// A pull failed; the next pull is at this time.
    Until(Timestamp),
    /// There is no room for it.
    Room,
}

/// State of one desired image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedState {
    pub state: NodeImageState,
    pub waiting: Option<Waiting>,
}

/// Result of [`plan`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// State of each desired image, in their order.
    pub states: Vec<PlannedState>,
    /// Every label with the image system's prefix that the node should have.
    pub labels: BTreeMap<String, Presence>,
    pub steps: Vec<Step>,
    /// Time of the next plan if nothing is reported before.
    pub again: Option<Timestamp>,
}

/// Plans the next steps of a node.
pub fn plan(input: &PlanInput<'_>) -> Plan {
    let removed = garbage::to_remove(input);
    let mut steps: Vec<Step> = removed
        .iter()
        .map(|id| Step::Remove { id: id.clone() })
        .collect();
    steps.extend(pins(input, &removed));
    let pulls = to_pull(input, &removed);
    let states: Vec<PlannedState> = input
        .desired
        .iter()
        .map(|wanted| state(input, wanted, &removed, &pulls))
        .collect();
    let labels = input
        .desired
        .iter()
        .zip(&states)
        .filter_map(|(wanted, state)| {
            let presence = match state.state {
                NodeImageState::Present => Presence::Present,
                NodeImageState::Error => Presence::Error,
                NodeImageState::Pending | NodeImageState::Pulling => return None,
            };
            Some((label::key(&wanted.content), presence))
        });
    let again = states.iter().filter_map(|state| match state.waiting {
        Some(Waiting::Until(time)) => Some(time),
        _ => None,
    });
    let (labels, again) = (labels.collect(), again.min());
    steps.extend(pulls.into_iter().cloned().map(Step::Pull));
    Plan {
        states,
        labels,
        steps,
        again,
    }
}

/// Returns true if the image is present under the name that pods use.
fn is_present(input: &PlanInput<'_>, wanted: &DesiredImage) -> bool {
    input
        .observed
        .iter()
        .any(|found| found.id == wanted.id && found.names.contains(&wanted.name))
}

fn state(
    input: &PlanInput<'_>,
    wanted: &DesiredImage,
    removed: &[String],
    pulls: &[&DesiredImage],
) -> PlannedState {
    let of = |state, waiting| PlannedState { state, waiting };
    let content = wanted.content.to_string();
    if is_present(input, wanted) && !removed.contains(&wanted.id) {
        return of(NodeImageState::Present, None);
    }
    if input.pulling.contains(&content) || input.held.contains(&content) || pulls.contains(&wanted)
    {
        return of(NodeImageState::Pulling, None);
    }
    let attempts = attempts(input, wanted);
    let is_error = attempts.failures >= wanted.failures_before_error;
    let state = if is_error {
        NodeImageState::Error
    } else {
        NodeImageState::Pending
    };
    let waiting = match attempts.next_try(wanted.failures_before_error) {
        Some(time) if time > input.now => Waiting::Until(time),
        _ if !disk::has_room(input, wanted, attempts) => Waiting::Room,
        _ => Waiting::Turn,
    };
    of(state, Some(waiting))
}

/// Returns the next images to pull: by priority, then the biggest, as it takes longest. An image
/// that does not fit beside the pulls under way, but would without them, waits for their end, and
/// so does every image after it: else small images would take the room of the one whose turn it is.
fn to_pull<'a>(input: &PlanInput<'a>, removed: &[String]) -> Vec<&'a DesiredImage> {
    let free = input.pulls_at_once.saturating_sub(input.pulling.len());
    let mut under_way = disk::UnderWay::of(input);
    let mut next = Vec::new();
    for wanted in due(input, removed) {
        if next.len() == free || !under_way.leaves_room(input, wanted, attempts(input, wanted)) {
            break;
        }
        under_way.add(wanted);
        next.push(wanted);
    }
    next
}

/// Returns images that are missing, may be tried and have room of their own, in the order of their
/// pulls.
fn due<'a>(input: &PlanInput<'a>, removed: &[String]) -> Vec<&'a DesiredImage> {
    let mut due: Vec<&DesiredImage> = input
        .desired
        .iter()
        .filter(|wanted| {
            let content = wanted.content.to_string();
            let attempts = attempts(input, wanted);
            let is_time = attempts
                .next_try(wanted.failures_before_error)
                .is_none_or(|time| time <= input.now);
            is_time
                && !is_present(input, wanted)
                && !input.pulling.contains(&content)
                && !input.held.contains(&content)
                && !removed.contains(&wanted.id)
                && disk::has_room(input, wanted, attempts)
        })
        .collect();
    due.sort_by_key(|wanted| {
        (
            std::cmp::Reverse((wanted.priority, wanted.size)),
            wanted.name.clone(),
        )
    });
    due.dedup_by(|a, b| a.content == b.content && a.name == b.name);
    due
}

fn attempts(input: &PlanInput<'_>, wanted: &DesiredImage) -> Attempts {
    let attempts = input.attempts.get(&wanted.content.to_string());
    attempts.copied().unwrap_or_default()
}

/// Pins the desired images that should be pinned, within the budget and unless the kubelet needs
/// room. No other pin of the agent stays.
fn pins(input: &PlanInput<'_>, removed: &[String]) -> Vec<Step> {
    let mut budget = if input.disk.pressure {
        0
    } else {
        input.rules.pin_budget
    };
    let mut wanted: Vec<&DesiredImage> = input
        .desired
        .iter()
        .filter(|wanted| wanted.pinned)
        .collect();
    wanted.sort_by_key(|wanted| std::cmp::Reverse(wanted.priority));
    let mut kept = BTreeSet::new();
    for wanted in wanted {
        let Some(found) = input.observed.iter().find(|found| found.id == wanted.id) else {
            continue;
        };
        if removed.contains(&found.id) || kept.contains(&found.id) || found.size > budget {
            continue;
        }
        budget -= found.size;
        kept.insert(found.id.clone());
    }
    let step = |found: &ObservedImage| match (found.pin, kept.contains(&found.id)) {
        (Pin::None, true) => Some(Step::Pin {
            id: found.id.clone(),
        }),
        (Pin::Ours, false) if !removed.contains(&found.id) => Some(Step::Unpin {
            id: found.id.clone(),
        }),
        _ => None,
    };
    let mut steps: Vec<Step> = input.observed.iter().filter_map(step).collect();
    // Room first.
    steps.sort_by_key(|step| matches!(step, Step::Pin { .. }));
    steps
}

#[cfg(test)]
mod tests;
