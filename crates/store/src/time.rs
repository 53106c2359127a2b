//! Time as the database keeps it.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// Microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Micros(pub i64);

impl Micros {
    pub fn seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// How long after `earlier`; nothing if the clock went back.
    pub fn since(self, earlier: Self) -> std::time::Duration {
        std::time::Duration::from_micros(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }

    pub fn plus(self, duration: std::time::Duration) -> Self {
        Self(self.0.saturating_add(duration.as_micros() as i64))
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the one clock")]
pub fn now() -> Micros {
    let elapsed = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Micros(elapsed.as_micros() as i64)
}
