//! A span for each request, part of the caller's trace if it has one.

use axum::{
    extract::{MatchedPath, Request},
    middleware::Next,
    response::Response,
};
use tracing::{Instrument as _, field::Empty};

pub(crate) async fn trace(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>();
    let (method, route) = (
        request.method().as_str(),
        route.map_or("unknown", MatchedPath::as_str),
    );
    let span = airside_telemetry::span!(
        "request",
        otel.name = format_args!("{method} {route}"),
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = method,
        http.route = route,
        http.response.status_code = Empty,
    );
    if span.is_disabled() {
        return next.run(request).await;
    }
    airside_telemetry::traces::adopt(&span, request.headers());
    let response = next.run(request).instrument(span.clone()).await;
    let status = response.status();
    span.record("http.response.status_code", status.as_u16());
    if status.is_server_error() {
        span.record("otel.status_code", "ERROR");
    }
    response
}
