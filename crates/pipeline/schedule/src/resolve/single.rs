//! An input without `passed`.

use airside_model::JobId;

use super::{Candidate, NoVersion, Reason};
use crate::graph::{Input, InputVersions};
use crate::history::Placed;
use crate::{History, Order};

pub(super) fn resolve<H: History>(
    history: &H,
    job: JobId,
    input: &Input,
) -> Result<Candidate, NoVersion<H::Error>> {
    let (found, reason) = match &input.want {
        InputVersions::Pinned(pin) => {
            let found = history.containing(input.resource, pin)?;
            let found = found.map(|version| Candidate {
                version,
                builds: Vec::new(),
                more: false,
            });
            (found, Reason::PinNotFound(pin.clone()))
        }
        InputVersions::Latest => {
            let found = history.newest_enabled(input.resource, Order::NEWEST)?;
            (found.map(alone), Reason::LatestNotFound)
        }
        InputVersions::Every => (every(history, job, input)?, Reason::VersionNotFound),
    };
    found.ok_or(NoVersion::None(reason))
}

/// The first version after the highest that the job used; if there is none, the last one up to
/// there. A job that never used the resource begins with the latest.
fn every<H: History>(
    history: &H,
    job: JobId,
    input: &Input,
) -> Result<Option<Candidate>, H::Error> {
    let Some(last) = history.last_use(job, input.resource)? else {
        let latest = history.newest_enabled(input.resource, Order::NEWEST)?;
        return Ok(latest.map(alone));
    };
    let Some(next) = history.next_enabled(input.resource, last.order)? else {
        let current = history.newest_enabled(input.resource, last.order)?;
        return Ok(current.map(alone));
    };
    let more = history.next_enabled(input.resource, next.order)?.is_some();
    Ok(Some(Candidate {
        more,
        ..alone(next)
    }))
}

fn alone(placed: Placed) -> Candidate {
    Candidate {
        version: placed.version,
        builds: Vec::new(),
        more: false,
    }
}
