//! Decides if a build has a free slot: `serial`, `serial_groups`, `max_in_flight`.

use super::Wait;
use crate::BuildKey;
use crate::graph::Job;

/// The builds that share a job's serial groups, its own included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Started and not finished.
    pub running: u32,
    /// The first pending build of the **other** jobs that could start: its job is not paused, and
    /// its inputs are determined (or it is a rerun whose original has them). Others delay no build.
    pub first_rival: Option<BuildKey>,
}

/// `Err` says what the build has to wait for.
pub(super) fn free(job: &Job, group: Group, build: BuildKey) -> Result<(), Wait> {
    let Some(limit) = job.max_in_flight else {
        return Ok(());
    };
    if group.running >= limit {
        return Err(Wait::MaxInFlight {
            running: group.running,
            limit,
        });
    }
    match group.first_rival {
        Some(rival) if rival < build => Err(Wait::TurnOf(rival)),
        _ => Ok(()),
    }
}
