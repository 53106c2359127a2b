//! Metrics and spans of what a server does.
//!
//! - [`metrics`]: counters and gauges, under the names that Concourse's dashboards know.
//! - [`traces`]: spans, and their way to an OTLP collector.
//!
//! *Absent:* the log, which `tracing-subscriber` writes, and the endpoint that serves the metrics.

pub mod metrics;
pub mod traces;

#[doc(hidden)]
pub use tracing;
