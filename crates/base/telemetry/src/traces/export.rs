//! An exporter that logs its failures, but not each of them.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use airside_model::chain;
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{SpanData, SpanExporter},
};
use tracing::{info, warn};

/// Pause between two lines in the log about a collector that is away.
const QUIET: Duration = Duration::from_secs(300);

#[derive(Debug)]
pub(crate) struct Watched<E> {
    exporter: E,
    began: Instant,
    /// Spans lost since it last worked; 0 while it works.
    lost: AtomicU64,
    /// Time at which the log may get another line, in milliseconds since `began`.
    quiet_until: AtomicU64,
}

impl<E> Watched<E> {
    pub(crate) fn new(exporter: E) -> Self {
        Self {
            exporter,
            began: Instant::now(),
            lost: AtomicU64::new(0),
            quiet_until: AtomicU64::new(0),
        }
    }

    /// Batches are sent one after the other, so that nothing here races.
    fn take_note(&self, spans: u64, result: &OTelSdkResult) {
        let Err(error) = result else {
            let lost = self.lost.swap(0, Ordering::Relaxed);
            if lost > 0 {
                info!(lost, "connection to the collector of traces restored");
            }
            self.quiet_until.store(0, Ordering::Relaxed);
            return;
        };
        let lost = self.lost.fetch_add(spans, Ordering::Relaxed) + spans;
        let now = self.began.elapsed();
        let now_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        if now_ms < self.quiet_until.load(Ordering::Relaxed) {
            return;
        }
        let until = u64::try_from((now + QUIET).as_millis()).unwrap_or(u64::MAX);
        self.quiet_until.store(until, Ordering::Relaxed);
        warn!(
            lost,
            error = %chain(error), "traces lost; check --otlp-endpoint and the collector there"
        );
    }
}

impl<E: SpanExporter> SpanExporter for Watched<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len() as u64;
        let result = self.exporter.export(batch).await;
        self.take_note(spans, &result);
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}
