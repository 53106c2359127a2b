//! Traces that begin elsewhere: a caller's `traceparent` becomes the parent of our span.

use http::HeaderMap;
use opentelemetry::{
    Context,
    propagation::{Extractor, TextMapPropagator as _},
    trace::TraceContextExt as _,
};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(|value| value.to_str().ok())
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(http::HeaderName::as_str).collect()
    }
}

/// Makes `span` part of the trace that the headers name, if they name one. Costs nothing where
/// nothing is traced.
pub fn adopt(span: &Span, headers: &HeaderMap) {
    if span.is_disabled() || !headers.contains_key("traceparent") {
        return;
    }
    let propagator = TraceContextPropagator::new();
    let context = propagator.extract_with_context(&Context::new(), &Headers(headers));
    if context.span().span_context().is_valid() {
        // It fails only for a span that nobody exports.
        let _ = span.set_parent(context);
    }
}
