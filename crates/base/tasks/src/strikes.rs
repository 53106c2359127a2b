//! Limits on the panics of a loop, and the rest before it starts again.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

/// This many panics within [`WINDOW`] end the server.
pub(crate) const MAX_PANICS: usize = 3;

/// The time for which a panic counts.
pub(crate) const WINDOW: Duration = Duration::from_secs(60);

const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The panics of one loop that still count.
#[derive(Default)]
pub(crate) struct Strikes(VecDeque<Instant>);

impl Strikes {
    /// Counts a panic. The pause before the loop starts again, or none if there were too many.
    pub(crate) fn strike(&mut self, now: Instant) -> Option<Duration> {
        self.0.retain(|then| now.duration_since(*then) < WINDOW);
        self.0.push_back(now);
        let before = u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX);
        (self.0.len() < MAX_PANICS).then(|| FIRST_PAUSE.saturating_mul(1 << before.min(5)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn three_within_a_minute_are_too_many() {
        let (mut strikes, now) = (Strikes::default(), Instant::now());
        let second = Duration::from_secs(1);
        assert_eq!(strikes.strike(now), Some(second));
        assert_eq!(strikes.strike(now + 30 * second), Some(2 * second));
        assert_eq!(strikes.strike(now + 59 * second), None);
    }

    #[tokio::test]
    async fn what_is_long_ago_does_not_count() {
        let (mut strikes, now) = (Strikes::default(), Instant::now());
        for minute in 0..10 {
            let now = now + minute * WINDOW;
            assert!(strikes.strike(now).is_some());
            assert!(strikes.strike(now).is_some());
        }
    }
}
