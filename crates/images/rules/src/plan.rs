//! What a node does next: a pure function of what belongs on it, what is there, and what failed before.
//!
//! Level-triggered: the same look at the node gives the same steps, whoever was killed in between. Steps are in the
//! order in which they are safe: a label goes before its image, an image comes before its label.

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

/// An image that a set wants on this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The name that pods use.
    pub name: Reference,
    /// The same with the digest that the name means; what the label is made of.
    pub content: Reference,
    /// What the runtime calls the content.
    pub id: String,
    pub size: u64,
    pub pinned: bool,
    pub priority: i32,
    pub failures_before_error: u32,
}

/// An image that the runtime has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub id: String,
    pub names: Vec<Reference>,
    pub size: u64,
    /// Pinned, and by whom.
    pub pin: Pin,
    /// When we pulled it; none if somebody else did.
    pub pulled: Option<Timestamp>,
    /// Whether a container uses it.
    pub in_use: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pin {
    #[default]
    None,
    Ours,
    Others,
}

/// Everything that a node knows of itself.
#[derive(Clone, Debug)]
pub struct Look<'a> {
    pub now: Timestamp,
    pub wanted: &'a [Wanted],
    pub found: &'a [Found],
    /// By the image's content.
    pub attempts: &'a BTreeMap<String, Attempts>,
    /// Contents that are being pulled.
    pub pulling: &'a BTreeSet<String>,
    /// Contents whose pulls may not begin yet, by what others said. They take neither a place nor room.
    pub held: &'a BTreeSet<String>,
    pub disk: Disk,
    /// The high mark was reached, and the low one is not yet: images go on going.
    pub collecting: bool,
    pub rules: &'a DiskRules,
    pub pulls_at_once: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The label must be gone before this is done.
    Remove {
        id: String,
    },
    Unpin {
        id: String,
    },
    Pin {
        id: String,
    },
    Pull(Wanted),
}

/// Why an image is not there and not on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Others go first.
    Turn,
    /// A pull failed; the next is at this time.
    Until(Timestamp),
    /// There is no room for it.
    Room,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    pub state: NodeImageState,
    pub waiting: Option<Waiting>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// One for each of the wanted, in their order.
    pub states: Vec<State>,
    /// All labels with our prefix that the node should have.
    pub labels: BTreeMap<String, Presence>,
    pub steps: Vec<Step>,
    /// When to look again if nothing happens.
    pub again: Option<Timestamp>,
}

/// The whole of it.
pub fn plan(look: &Look<'_>) -> Plan {
    let removed = garbage::to_remove(look);
    let mut steps: Vec<Step> = removed
        .iter()
        .map(|id| Step::Remove { id: id.clone() })
        .collect();
    steps.extend(pins(look, &removed));
    let pulls = to_pull(look, &removed);
    let states: Vec<State> = look
        .wanted
        .iter()
        .map(|wanted| state(look, wanted, &removed, &pulls))
        .collect();
    let labels = look
        .wanted
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

/// Whether it is there, under the name that pods use.
fn is_present(look: &Look<'_>, wanted: &Wanted) -> bool {
    look.found
        .iter()
        .any(|found| found.id == wanted.id && found.names.contains(&wanted.name))
}

fn state(look: &Look<'_>, wanted: &Wanted, removed: &[String], pulls: &[&Wanted]) -> State {
    let of = |state, waiting| State { state, waiting };
    let content = wanted.content.to_string();
    if is_present(look, wanted) && !removed.contains(&wanted.id) {
        return of(NodeImageState::Present, None);
    }
    if look.pulling.contains(&content) || look.held.contains(&content) || pulls.contains(&wanted) {
        return of(NodeImageState::Pulling, None);
    }
    let attempts = attempts(look, wanted);
    let is_error = attempts.failures >= wanted.failures_before_error;
    let state = if is_error {
        NodeImageState::Error
    } else {
        NodeImageState::Pending
    };
    let waiting = match attempts.next_try(wanted.failures_before_error) {
        Some(time) if time > look.now => Waiting::Until(time),
        _ if !disk::has_room(look, wanted, attempts) => Waiting::Room,
        _ => Waiting::Turn,
    };
    of(state, Some(waiting))
}

/// The next to pull: by priority, then the biggest, as it takes longest to be of use. What does not fit beside those that
/// are under way, but would without them, waits for their end, and so does everything after it: else small ones would take
/// the room of the one whose turn it is.
fn to_pull<'a>(look: &Look<'a>, removed: &[String]) -> Vec<&'a Wanted> {
    let free = look.pulls_at_once.saturating_sub(look.pulling.len());
    let mut under_way = disk::UnderWay::of(look);
    let mut next = Vec::new();
    for wanted in due(look, removed) {
        if next.len() == free || !under_way.leaves_room(look, wanted, attempts(look, wanted)) {
            break;
        }
        under_way.add(wanted);
        next.push(wanted);
    }
    next
}

/// Those that are missing, may be tried and have room of their own, in the order in which they go.
fn due<'a>(look: &Look<'a>, removed: &[String]) -> Vec<&'a Wanted> {
    let mut due: Vec<&Wanted> = look
        .wanted
        .iter()
        .filter(|wanted| {
            let content = wanted.content.to_string();
            let attempts = attempts(look, wanted);
            let is_time = attempts
                .next_try(wanted.failures_before_error)
                .is_none_or(|time| time <= look.now);
            is_time
                && !is_present(look, wanted)
                && !look.pulling.contains(&content)
                && !look.held.contains(&content)
                && !removed.contains(&wanted.id)
                && disk::has_room(look, wanted, attempts)
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

fn attempts(look: &Look<'_>, wanted: &Wanted) -> Attempts {
    let attempts = look.attempts.get(&wanted.content.to_string());
    attempts.copied().unwrap_or_default()
}

/// What is wanted and to be pinned is, within the budget and unless the kubelet is in need of room; nothing else of ours
/// stays pinned.
fn pins(look: &Look<'_>, removed: &[String]) -> Vec<Step> {
    let mut budget = if look.disk.pressure {
        0
    } else {
        look.rules.pin_budget
    };
    let mut wanted: Vec<&Wanted> = look.wanted.iter().filter(|wanted| wanted.pinned).collect();
    wanted.sort_by_key(|wanted| std::cmp::Reverse(wanted.priority));
    let mut kept = BTreeSet::new();
    for wanted in wanted {
        let Some(found) = look.found.iter().find(|found| found.id == wanted.id) else {
            continue;
        };
        if removed.contains(&found.id) || kept.contains(&found.id) || found.size > budget {
            continue;
        }
        budget -= found.size;
        kept.insert(found.id.clone());
    }
    let step = |found: &Found| match (found.pin, kept.contains(&found.id)) {
        (Pin::None, true) => Some(Step::Pin {
            id: found.id.clone(),
        }),
        (Pin::Ours, false) if !removed.contains(&found.id) => Some(Step::Unpin {
            id: found.id.clone(),
        }),
        _ => None,
    };
    let mut steps: Vec<Step> = look.found.iter().filter_map(step).collect();
    // Room first.
    steps.sort_by_key(|step| matches!(step, Step::Pin { .. }));
    steps
}

#[cfg(test)]
mod tests;
