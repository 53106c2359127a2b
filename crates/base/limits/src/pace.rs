//! The least speed of a transfer.

use std::time::Duration;

/// The bytes that give a peer another second of waiting.
const BYTES_PER_SECOND: u64 = 1024;

/// The slowest pace of a peer that is tolerated: a longest stall at a time, and a longest time
/// altogether, plus a second for each kilobyte that moves. Only time in which the server waits for
/// the peer counts, so that a slow disk is not held against it.
#[derive(Clone, Debug)]
pub struct TransferPace {
    patience: Duration,
    waited: Duration,
    bytes: u64,
}

impl TransferPace {
    pub fn new(patience: Duration) -> Self {
        Self {
            patience,
            waited: Duration::ZERO,
            bytes: 0,
        }
    }

    /// Returns the time that the server may wait for the peer now.
    pub fn left(&self) -> Duration {
        let earned = Duration::from_secs(self.bytes / BYTES_PER_SECOND);
        let overall = self.patience.saturating_add(earned);
        overall.saturating_sub(self.waited).min(self.patience)
    }

    /// Records that `bytes` moved after the server had waited for `waited`.
    pub fn moved(&mut self, waited: Duration, bytes: usize) {
        self.waited = self.waited.saturating_add(waited);
        self.bytes = self.bytes.saturating_add(bytes as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST_PATIENCE: Duration = Duration::from_secs(60);
    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn hostile_drips_run_out_of_time() {
        let mut pace = TransferPace::new(TEST_PATIENCE);
        let mut drips = 0;
        while !pace.left().is_zero() {
            pace.moved(SECOND, 1);
            drips += 1;
        }
        assert_eq!(drips, 60);
    }

    #[test]
    fn a_slow_line_never_does_but_may_not_stall() {
        let mut pace = TransferPace::new(TEST_PATIENCE);
        for _ in 0..10_000 {
            pace.moved(SECOND, 2048);
            assert_eq!(pace.left(), TEST_PATIENCE);
        }
    }
}
