//! Removal of images: only images that the agent pulled, that no container uses, and that no other
//! program pinned.

use std::cmp::Reverse;

use super::{GarbageMode, GarbageOrder, ObservedImage, Pin, PlanInput};

/// Ids, in the order in which they go.
pub(super) fn to_remove(input: &PlanInput<'_>) -> Vec<String> {
    let is_wanted =
        |found: &&ObservedImage| input.desired.iter().any(|wanted| wanted.id == found.id);
    let may_go = |found: &&ObservedImage| {
        found.pulled.is_some() && !found.in_use && found.pin != Pin::Others
    };
    let (wanted, unwanted): (Vec<&ObservedImage>, Vec<&ObservedImage>) =
        input.observed.iter().filter(may_go).partition(is_wanted);
    let freed: u64 = unwanted.iter().map(|found| found.size).sum();
    let mut gone: Vec<String> = unwanted.into_iter().map(|found| found.id.clone()).collect();
    let is_over = input.collecting || input.disk.is_at(input.rules.high);
    let above = input.disk.above(input.rules.low);
    if input.rules.mode == GarbageMode::Refuse || !is_over || freed >= above {
        return gone;
    }
    // One at a time: what an image takes on the disk shows only once it is gone.
    let next = in_order(input, wanted).into_iter().next();
    gone.extend(next.map(|found| found.id.clone()));
    gone
}

fn in_order<'a>(
    input: &PlanInput<'_>,
    mut found: Vec<&'a ObservedImage>,
) -> Vec<&'a ObservedImage> {
    let priority = |found: &ObservedImage| {
        let sets = input.desired.iter().filter(|wanted| wanted.id == found.id);
        sets.map(|wanted| wanted.priority).max()
    };
    match input.rules.order {
        GarbageOrder::Oldest => found.sort_by_key(|found| (priority(found), found.pulled)),
        GarbageOrder::Largest => found.sort_by_key(|found| (priority(found), Reverse(found.size))),
    }
    found
}
