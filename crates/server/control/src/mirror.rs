//! The mirror: pipelines, jobs and builds of the store, shown as objects.
//!
//! It is bounded and never on the path of a build: a job is read once its mark is due, and written
//! if it differs from what was written last.

mod desired;
mod job;
mod lists;

use std::time::Duration;

use airside_model::{TeamId, chain};
use tokio::time::Instant;
use tracing::warn;

use crate::team::{PassError, TeamParts, TeamState};

/// Time that a pass spends on writes, so that objects of people do not wait for the mirror.
const PASS_TIME: Duration = Duration::from_millis(500);
/// Largest number of jobs that a pass reads.
const MAX_JOBS: usize = 200;
/// Pause before a job is looked at again whose objects could not be written.
const RETRY: Duration = Duration::from_secs(10);

/// Writes the objects of everything whose mark is due, for a bounded time.
pub(crate) async fn pass(
    team: &TeamParts,
    state: &mut TeamState,
    id: TeamId,
) -> Result<(), PassError> {
    let now = Instant::now();
    if let Some(is_all) = state.marks.take_lists(now) {
        let done = lists::pass(team, state, id, is_all, now + PASS_TIME).await;
        settle(state, done, |state| {
            if is_all {
                state.marks.mark_all(now + RETRY);
            } else {
                state.marks.mark_lists(now + RETRY);
            }
        })?;
    }
    let until = Instant::now() + PASS_TIME;
    for _ in 0..MAX_JOBS {
        let Some(job) = state.marks.take_job(now) else {
            break;
        };
        let done = job::pass(team, state, id, job).await;
        settle(state, done, |state| state.marks.mark_job(job, now + RETRY))?;
        if Instant::now() >= until {
            break;
        }
    }
    Ok(())
}

/// A request that failed is made again later, and holds up nothing else.
fn settle(
    state: &mut TeamState,
    done: Result<(), PassError>,
    mark: impl FnOnce(&mut TeamState),
) -> Result<(), PassError> {
    match done {
        Ok(()) => Ok(()),
        Err(PassError::Request(error)) => {
            warn!(error = %chain(&error), "objects not written; it is tried again");
            mark(state);
            Ok(())
        }
        Err(error) => {
            mark(state);
            Err(error)
        }
    }
}
