//! Decides which kept pods go for a step that finds no room: only those whose end makes room for
//! it, and none for a step that would not fit anyway. Pure.
//!
//! Nothing is known of what nodes have left, nor of other namespaces. So kept pods go only where
//! they alone free as much as the step asks for: that helps whatever else is there. In all other
//! cases they are made smaller, which costs nothing.

mod held;
mod shortage;

use airside_model::Handle;
use airside_runtime::Shortage;

pub(crate) use held::PodShare;
pub(crate) use shortage::{node_shortage, quota_shortage};

/// The plan for a step that finds no room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// The step waits: nothing of ours would help, or what goes already will.
    Wait,
    /// These kept pods give back what they asked for.
    Shrink(Vec<Handle>),
    /// These kept pods go.
    GiveUp(Vec<Handle>),
}

/// Plans for a step whose pod is `wanted`. `held` are all pods of the target, `kept` those that may
/// go, the oldest first; `shrinks` is true for those that can still be made smaller.
pub(crate) fn plan(
    shortage: &Shortage,
    wanted: &PodShare,
    held: &[PodShare],
    kept: &[Handle],
    shrinks: impl Fn(&PodShare) -> bool,
) -> Plan {
    let kept = kept.iter().filter_map(|handle| {
        let of = |it: &&PodShare| it.handle == *handle && !it.leaving;
        held.iter().find(of)
    });
    let kept: Vec<&PodShare> = kept.collect();
    if shortage::can_be_shrunk_away(shortage) {
        let large = kept.iter().filter(|it| shrinks(it));
        let large: Vec<Handle> = large.map(|it| it.handle.clone()).collect();
        if !large.is_empty() {
            return Plan::Shrink(large);
        }
    }
    let chosen = match shortage {
        Shortage::Never => None,
        Shortage::Pods | Shortage::Quota(_) => choose(shortage, wanted, held, &kept),
        Shortage::Nodes { .. } => one_node(shortage, wanted, held, &kept),
    };
    match chosen {
        None => Plan::Wait,
        Some(chosen) if chosen.is_empty() => Plan::Wait,
        Some(chosen) => Plan::GiveUp(chosen),
    }
}

/// The fewest that make room on some single node.
fn one_node(
    shortage: &Shortage,
    wanted: &PodShare,
    held: &[PodShare],
    kept: &[&PodShare],
) -> Option<Vec<Handle>> {
    let mut nodes: Vec<&str> = kept.iter().filter_map(|it| it.node.as_deref()).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let choices = nodes.into_iter().filter_map(|node| {
        let there =
            |it: &PodShare| it.node.as_deref() == Some(node) && it.shows_a_place_for(wanted);
        let held: Vec<PodShare> = held.iter().filter(|it| there(it)).cloned().collect();
        let kept: Vec<&PodShare> = kept.iter().copied().filter(|it| there(it)).collect();
        choose(shortage, wanted, &held, &kept)
    });
    choices.min_by_key(Vec::len)
}

/// Returns the oldest kept pods that free enough, beside what pods that end anyway free; none if
/// all of them are too few.
fn choose(
    shortage: &Shortage,
    wanted: &PodShare,
    held: &[PodShare],
    kept: &[&PodShare],
) -> Option<Vec<Handle>> {
    let mut freed: Vec<&PodShare> = held.iter().filter(|it| it.leaving).collect();
    let mut chosen = Vec::new();
    let mut more = kept.iter();
    while !shortage::is_met_by(shortage, wanted, &freed) {
        let next = more.next()?;
        freed.push(next);
        chosen.push(next.handle.clone());
    }
    Some(chosen)
}

#[cfg(test)]
mod tests;
