//! The wall clock, for files on the disk and for tokens: neither is ever compared with times of the
//! database.

use std::time::{SystemTime, UNIX_EPOCH};

#[expect(
    clippy::disallowed_methods,
    reason = "times of files and of tokens, which know no database"
)]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}

/// Since 1970.
pub(crate) fn seconds() -> u64 {
    let since = now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
