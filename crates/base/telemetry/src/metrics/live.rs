//! Metrics of the live streams to browsers.

use prometheus_client::{
    metrics::{counter::Counter, gauge::Gauge},
    registry::Registry,
};

use super::{Metrics, counter, gauge};

pub(super) struct LiveMetrics {
    readers: Gauge,
    patches: Counter,
    overflows: Counter,
    refused: Counter,
}

impl LiveMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        Self {
            readers: gauge(registry, "live_readers", "Live streams that are open"),
            patches: counter(
                registry,
                "live_patches",
                "Changes of topics that were pushed, each counted once for all readers",
            ),
            overflows: counter(
                registry,
                "live_overflows",
                "Times that a reader was too slow and got its topics whole instead of changes",
            ),
            refused: counter(
                registry,
                "live_refused",
                "Live streams that were refused because a user or address had too many",
            ),
        }
    }
}

impl Metrics {
    /// Sets the number of live streams that are open.
    pub fn live_readers(&self, readers: usize) {
        let readers = i64::try_from(readers).unwrap_or(i64::MAX);
        self.0.live.readers.set(readers);
    }

    /// Counts changes that were pushed, and readers that were too slow for them.
    pub fn live_told(&self, patches: u64, overflows: u64) {
        self.0.live.patches.inc_by(patches);
        self.0.live.overflows.inc_by(overflows);
    }

    /// Counts a live stream that was refused.
    pub fn live_refused(&self) {
        self.0.live.refused.inc();
    }
}
