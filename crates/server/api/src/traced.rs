//! A span for each request, part of the caller's trace if it has one, and a line in the log for
//! each request that a fault ended.

use axum::{
    extract::{MatchedPath, Request},
    middleware::Next,
    response::Response,
};
use tracing::{Instrument as _, field::Empty};

use crate::fault::RequestFault;

/// Answers a request within its span, and logs the fault that ended it, if one did.
pub(crate) async fn trace(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or_else(String::new, |route| route.as_str().to_owned());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let response = spanned(request, next).await;
    if let Some(fault) = response.extensions().get::<RequestFault>() {
        fault.log(method.as_str(), &route, &path);
    }
    response
}

async fn spanned(request: Request, next: Next) -> Response {
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
