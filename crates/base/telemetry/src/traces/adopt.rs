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
        // It fails only for a span that is not exported.
        let _ = span.set_parent(context);
    }
}

/// A point in a trace that later spans continue. It keeps no span open.
#[derive(Clone, Debug)]
pub struct TraceCause(Context);

impl TraceCause {
    /// The current span, if it is part of a trace.
    pub fn current() -> Option<Self> {
        let span = Span::current();
        if span.is_disabled() {
            return None;
        }
        let context = span.context().span().span_context().clone();
        context
            .is_valid()
            .then(|| Self(Context::new().with_remote_span_context(context)))
    }

    /// Makes `span` a part of what came of this.
    pub fn lead_to(self, span: &Span) {
        // It fails only for a span that is not exported.
        let _ = span.set_parent(self.0);
    }
}
