//! Spans, and their way to an OTLP collector.
//!
//! ```text
//! span!("build", …) ─ tracing ─▶ Layer ─ queue ─▶ own thread ─ OTLP over HTTP ─▶ collector
//! ```
//!
//! Spans have a target of their own, [`TARGET`]: they never show in the server's log, and without a
//! collector they are not recorded and cost a comparison each.
//!
//! **Invariant:** tracing never blocks and never fails anything. What the collector does not take
//! is dropped, and the log says so once in a while.

mod adopt;
mod export;

use std::time::Duration;

use opentelemetry::{KeyValue, trace::TracerProvider as _};
use opentelemetry_otlp::{Protocol, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use tracing::{Subscriber, level_filters::LevelFilter};
use tracing_subscriber::{Layer, filter::Targets, registry::LookupSpan};

pub use adopt::{TraceCause, adopt};

/// The target of every span here. Filters for the log turn it off.
pub const TARGET: &str = "trace";

/// A span that goes to the collector, if there is one. Takes what `tracing::info_span!` takes after
/// its target.
#[macro_export]
macro_rules! span {
    ($($rest:tt)+) => {
        $crate::tracing::info_span!(target: $crate::traces::TARGET, $($rest)+)
    };
}

/// Time that the last spans may take to leave when the server stops.
const FAREWELL: Duration = Duration::from_secs(5);

/// Time that the collector may take to answer.
const COLLECTOR_TIMEOUT: Duration = Duration::from_secs(10);

/// The OTLP collector that gets the spans.
pub struct Collector {
    /// `http://host:4318`, or the whole URL up to `/v1/traces`.
    pub endpoint: String,
    /// Names and values that each request carries, such as a token.
    pub headers: Vec<(String, String)>,
    /// Name of this server at the collector.
    pub service: String,
    /// Our version.
    pub version: &'static str,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("`{0}` is not an address of a collector; it is written `http://host:4318`")]
    Endpoint(String),
    #[error("cannot export traces: {0}")]
    Exporter(#[from] opentelemetry_otlp::ExporterBuildError),
}

/// Keeps the export alive.
pub struct Traces(SdkTracerProvider);

impl Traces {
    /// Sends what is left, for a moment. Blocks.
    pub fn finish(self) {
        // The server ends here, and errors of earlier exports are in the log.
        let _ = self.0.shutdown_with_timeout(FAREWELL);
    }
}

/// Starts the export; spans reach it through the layer.
pub fn start<S>(collector: Collector) -> Result<(impl Layer<S> + use<S>, Traces), Error>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let exporter = opentelemetry_otlp::SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(traces_url(&collector.endpoint)?)
        .with_headers(collector.headers.into_iter().collect())
        .with_timeout(COLLECTOR_TIMEOUT)
        .build()?;
    let resource = Resource::builder()
        .with_service_name(collector.service)
        .with_attribute(KeyValue::new("service.version", collector.version))
        .build();
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(export::Watched::new(exporter))
        .with_resource(resource)
        .build();
    let layer = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("airside"))
        .with_location(false)
        .with_threads(false)
        .with_tracked_inactivity(false)
        .with_filter(Targets::new().with_target(TARGET, LevelFilter::TRACE));
    Ok((layer, Traces(provider)))
}

/// Returns the address for traces: below the collector's address, as the specification of OTLP has
/// it.
fn traces_url(endpoint: &str) -> Result<String, Error> {
    let wrong = || Error::Endpoint(endpoint.to_owned());
    let uri: http::Uri = endpoint.parse().map_err(|_| wrong())?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none() {
        return Err(wrong());
    }
    let base = endpoint.trim_end_matches('/');
    Ok(if base.ends_with("/v1/traces") {
        base.to_owned()
    } else {
        format!("{base}/v1/traces")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_collectors() {
        for (given, expected) in [
            ("http://h:4318", "http://h:4318/v1/traces"),
            ("http://h:4318/", "http://h:4318/v1/traces"),
            ("https://h/otlp", "https://h/otlp/v1/traces"),
            ("https://h/v1/traces", "https://h/v1/traces"),
        ] {
            assert_eq!(traces_url(given).unwrap(), expected);
        }
        for wrong in ["h:4318", "grpc://h:4317", "http://", "", "/v1/traces"] {
            assert!(
                matches!(traces_url(wrong), Err(Error::Endpoint(_))),
                "{wrong}"
            );
        }
    }
}
