//! Decides if a build's resources were checked recently enough for it to pick versions.

use std::collections::HashMap;

use airside_model::ResourceId;

use super::{BuildOrigin, Pending};
use crate::Moment;
use crate::graph::{Input, Job};

/// The checks of a resource. A check that failed ended too: a broken resource holds no build up for
/// good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    pub last_end: Option<Moment>,
    /// Time at which the resource's interval has passed; `None` for `check_every: never`, and
    /// before the first check.
    pub next_due: Option<Moment>,
}

/// The resources whose check the build has to wait for; sorted, each once.
pub(super) fn stale(
    job: &Job,
    checked: &HashMap<ResourceId, Checked>,
    build: &Pending,
) -> Vec<ResourceId> {
    let stale = job.inputs.iter().filter(|input| {
        let checks = checked.get(&input.resource).copied().unwrap_or_default();
        is_stale(input, checks, build)
    });
    let mut resources: Vec<ResourceId> = stale.map(|input| input.resource).collect();
    resources.sort_unstable();
    resources.dedup();
    resources
}

/// Returns true if the input needs a check. Where `passed` or a pin decides, a check would change
/// nothing.
pub(super) fn is_stale(input: &Input, checks: Checked, build: &Pending) -> bool {
    if !input.passed.is_empty() || input.resource_is_pinned {
        return false;
    }
    match build.origin {
        BuildOrigin::Manual => checks.last_end.is_none_or(|end| end < build.created),
        // A trigger was checked by itself, which is why there is a build.
        BuildOrigin::Trigger => {
            !input.trigger && checks.next_due.is_some_and(|due| due < build.created)
        }
        BuildOrigin::Rerun(_) => false,
    }
}
