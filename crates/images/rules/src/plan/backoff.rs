//! Patience with pulls that fail.

use jiff::{SignedDuration, Timestamp};

const FIRST: SignedDuration = SignedDuration::from_secs(5);
/// An image in state error is tried again this often, and whenever its set or its digest changes.
const MAX_WAIT: SignedDuration = SignedDuration::from_mins(10);

/// Outcome of the pulls of an image so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attempts {
    /// Number of failures in a row.
    pub failures: u32,
    pub last: Option<Timestamp>,
    /// True if the image was removed to make room. It comes back only where there is a lot of room,
    /// or it would come and go.
    pub collected: bool,
}

impl Attempts {
    /// Returns the attempts after one more, which failed at `now`.
    pub fn failed(self, now: Timestamp) -> Self {
        Self {
            failures: self.failures.saturating_add(1),
            last: Some(now),
            ..self
        }
    }

    /// Returns the time of the next pull; none means at once. The wait doubles with each failure,
    /// and is the longest in state error.
    pub fn next_try(self, failures_before_error: u32) -> Option<Timestamp> {
        let last = self.last.filter(|_| self.failures > 0)?;
        let doublings = (self.failures - 1).min(16);
        let wait = if self.failures >= failures_before_error {
            MAX_WAIT
        } else {
            (FIRST * (1 << doublings)).min(MAX_WAIT)
        };
        last.checked_add(wait).ok()
    }
}
