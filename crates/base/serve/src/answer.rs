//! Answers that servers share.

use airside_model::chain;
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use serde::Serialize;

/// Returns an answer of plain text.
pub fn text(status: StatusCode, words: impl Into<Bytes>) -> Response<Full<Bytes>> {
    with_type(status, "text/plain; charset=utf-8", words.into())
}

/// Returns an answer in JSON. A value that JSON cannot hold becomes an empty answer of status 500.
pub fn json(status: StatusCode, value: &impl Serialize) -> Response<Full<Bytes>> {
    match serde_json::to_vec(value) {
        Ok(written) => with_type(status, "application/json", written.into()),
        Err(error) => {
            tracing::error!(error = %chain(&error), "answer not written as JSON");
            with_type(
                StatusCode::INTERNAL_SERVER_ERROR,
                "application/json",
                Bytes::from_static(b"{}"),
            )
        }
    }
}

/// Returns an error in the form that clients of registries read.
pub fn oci_error(status: StatusCode, code: &str, message: &str) -> Response<Full<Bytes>> {
    let body = serde_json::json!({"errors": [{"code": code, "message": message}]});
    json(status, &body)
}

/// Returns the code of the distribution specification that fits a status best.
pub fn oci_code(status: StatusCode) -> &'static str {
    match status {
        StatusCode::NOT_FOUND => "NAME_UNKNOWN",
        StatusCode::UNAUTHORIZED => "UNAUTHORIZED",
        StatusCode::FORBIDDEN => "DENIED",
        StatusCode::METHOD_NOT_ALLOWED => "UNSUPPORTED",
        StatusCode::TOO_MANY_REQUESTS => "TOOMANYREQUESTS",
        _ => "UNKNOWN",
    }
}

fn with_type(status: StatusCode, kind: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::new(body));
    *answer.status_mut() = status;
    let kind = HeaderValue::from_static(kind);
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    answer
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn errors_of_registries() {
        let answer = oci_error(
            StatusCode::FORBIDDEN,
            oci_code(StatusCode::FORBIDDEN),
            "no \"x\"",
        );
        assert_eq!(answer.status(), StatusCode::FORBIDDEN);
        assert_eq!(answer.headers()[header::CONTENT_TYPE], "application/json");
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        let expected = br#"{"errors":[{"code":"DENIED","message":"no \"x\""}]}"#;
        assert_eq!(body, &expected[..]);
    }

    #[test]
    fn maps_that_json_cannot_hold() {
        let odd = std::collections::BTreeMap::from([((1, 2), 3)]);
        let answer = json(StatusCode::OK, &odd);
        assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
    }
}
