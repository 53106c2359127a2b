//! Points in time, given by the caller: this crate reads no clock.

use std::time::Duration;

/// Microseconds since 1970, as the store keeps them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub i64);

impl Moment {
    /// Stays at the end of time rather than wrap.
    pub fn after(self, wait: Duration) -> Self {
        let micros = i64::try_from(wait.as_micros()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(micros))
    }
}
