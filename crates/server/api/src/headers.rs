//! Headers that every response carries.

use axum::response::Response;
use http::{
    HeaderName, HeaderValue,
    header::{
        CACHE_CONTROL, CONTENT_SECURITY_POLICY, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS,
        X_FRAME_OPTIONS,
    },
};

use crate::CONCOURSE_VERSION;

const ALWAYS: [(HeaderName, &str); 5] = [
    (
        HeaderName::from_static("x-concourse-version"),
        CONCOURSE_VERSION,
    ),
    (X_FRAME_OPTIONS, "deny"),
    (CONTENT_SECURITY_POLICY, "frame-ancestors 'none'"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (HeaderName::from_static("x-download-options"), "noopen"),
];

/// Time for which browsers stay with TLS once they came with it: a year. Other names under ours are
/// not ours to speak for.
const STAY: HeaderValue = HeaderValue::from_static("max-age=31536000");

pub(crate) async fn add(secure: bool, mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in ALWAYS {
        // Pages may allow themselves less.
        headers
            .entry(name)
            .or_insert_with(|| HeaderValue::from_static(value));
    }
    if secure {
        headers.insert(STRICT_TRANSPORT_SECURITY, STAY);
    }
    headers
        .entry(CACHE_CONTROL)
        .or_insert_with(|| HeaderValue::from_static("no-store, private"));
    response
}
