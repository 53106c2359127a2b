//! Headers that every response carries.

use axum::response::Response;
use http::{
    HeaderName, HeaderValue,
    header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS},
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

pub(crate) async fn add(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in ALWAYS {
        // Pages may allow themselves less.
        headers
            .entry(name)
            .or_insert_with(|| HeaderValue::from_static(value));
    }
    headers
        .entry(CACHE_CONTROL)
        .or_insert_with(|| HeaderValue::from_static("no-store, private"));
    response
}
