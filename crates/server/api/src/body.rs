//! Reading what a request carries, up to a limit.

use axum::body::{Body, to_bytes};
use serde::de::DeserializeOwned;

use crate::error::{ApiError, Result};

/// Enough for anything but a pipeline.
const SMALL_KIB: usize = 256;

/// Returns the body as text, of at most this many bytes.
pub(crate) async fn text(body: Body, what: &str, largest: usize) -> Result<String> {
    let bytes = to_bytes(body, largest).await.map_err(|_| {
        let limit = match largest >> 20 {
            0 => format!("{} KiB", largest >> 10),
            mib => format!("{mib} MiB"),
        };
        ApiError::TooLarge(format!(
            "{what} did not arrive whole or is larger than {limit}"
        ))
    })?;
    String::from_utf8(bytes.into())
        .map_err(|_| ApiError::BadRequest(format!("{what} is not UTF-8 text")))
}

/// A small body as text.
pub(crate) async fn small_text(body: Body, what: &str) -> Result<String> {
    text(body, what, SMALL_KIB << 10).await
}

/// A small JSON body, whatever its content type says: fly does not always say.
pub(crate) async fn json<T: DeserializeOwned>(body: Body, what: &str) -> Result<T> {
    let text = small_text(body, what).await?;
    serde_json::from_str(&text).map_err(|error| {
        ApiError::BadRequest(format!(
            "{what} cannot be read: {}",
            airside_model::chain(&error)
        ))
    })
}

/// Reads a body of JSON, or none at all.
pub(crate) async fn json_or_nothing<T: DeserializeOwned>(
    body: Body,
    what: &str,
) -> Result<Option<T>> {
    let text = small_text(body, what).await?;
    if text.trim().is_empty() {
        Ok(None)
    } else {
        json(Body::from(text), what).await.map(Some)
    }
}
