//! The pause before another try: twice as long each time, never the same for all.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(2);

pub(crate) struct Backoff {
    next: Duration,
}

impl Backoff {
    pub(crate) fn new() -> Self {
        Self { next: FIRST }
    }

    /// Begins again with the shortest pause; to be called when something has worked.
    pub(crate) fn reset(&mut self) {
        self.next = FIRST;
    }

    pub(crate) async fn wait(&mut self) {
        tokio::time::sleep(self.advance()).await;
    }

    /// Returns the next wait: between half of the full wait and all of it, so that a thousand shims
    /// do not connect at once.
    fn advance(&mut self) -> Duration {
        let wait = airside_model::scale_duration(self.next, 0.5 + rand::random::<f64>() / 2.0);
        self.next = (self.next * 2).min(MAX_PAUSE);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_limit_and_start_over() {
        let mut backoff = Backoff::new();
        for full in [50, 100, 200, 400, 800, 1600, 2000, 2000] {
            let full = Duration::from_millis(full);
            let wait = backoff.advance();
            assert!(full / 2 <= wait && wait <= full, "{wait:?} of {full:?}");
        }
        backoff.reset();
        assert!(backoff.advance() <= FIRST);
    }
}
