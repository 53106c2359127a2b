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

    /// Returns the time since `earlier`; zero if the clock went back.
    pub fn since(self, earlier: Self) -> std::time::Duration {
        std::time::Duration::from_micros(
            u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0),
        )
    }

    pub fn plus(self, duration: std::time::Duration) -> Self {
        Self(self.0.saturating_add(micros(duration)))
    }

    /// So long before.
    pub fn minus(self, duration: std::time::Duration) -> Self {
        Self(self.0.saturating_sub(micros(duration)))
    }
}

/// Returns the microseconds of a duration, or the most that the database can hold.
fn micros(duration: std::time::Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

#[expect(clippy::disallowed_methods, reason = "this is the one clock")]
pub fn now() -> Micros {
    let elapsed = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Micros(micros(elapsed))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn hostile_durations_never_lead_into_the_past() {
        let start = now();
        for duration in [
            Duration::MAX,
            Duration::from_micros(u64::MAX),
            Duration::from_micros(1 << 63),
        ] {
            assert_eq!(start.plus(duration), Micros(i64::MAX));
            assert!(start.minus(duration) < start);
        }
        assert_eq!(Micros(i64::MIN).since(Micros(i64::MAX)), Duration::ZERO);
    }
}
