//! The wall clock, read in one place: for times of files, which are compared with nothing that a
//! database keeps.

use std::time::{Duration, SystemTime};

#[expect(
    clippy::disallowed_methods,
    reason = "times of what is kept, which know no database"
)]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}

/// Returns the time since then, which is zero for a time in the future.
pub(crate) fn age(time: SystemTime) -> Duration {
    now().duration_since(time).unwrap_or_default()
}
