//! `fly` itself, for `fly sync`.

use std::io::ErrorKind;

use airside_model::chain;
use axum::{
    body::Body,
    extract::{Query, State},
    response::{IntoResponse, Response},
};
use http::{
    StatusCode,
    header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE},
};
use serde::Deserialize;
use tokio_util::io::ReaderStream;

use crate::{
    ApiState, BINARY,
    error::{ApiError, Result},
};

#[derive(Deserialize)]
pub(super) struct FlyPlatform {
    #[serde(default)]
    platform: String,
    #[serde(default)]
    arch: String,
}

/// Sends `fly-<platform>-<arch>` from the folder that was given for it.
pub(super) async fn download(
    State(state): State<ApiState>,
    Query(wanted): Query<FlyPlatform>,
) -> Result<Response> {
    let platform = wanted.platform.to_ascii_lowercase();
    // Nothing that could leave the folder.
    let plain = |word: &str| {
        let letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        !word.is_empty() && word.chars().all(letter)
    };
    if !plain(&platform) || !plain(&wanted.arch) {
        let why = "platform and arch are words of small letters and digits";
        return Err(ApiError::BadRequest(why.to_owned()));
    }
    let Some(dir) = &state.cli_dir else {
        let why = "this server gives out no fly: it was started without --cli-dir";
        return Ok((StatusCode::NOT_FOUND, why).into_response());
    };
    let name = format!("fly-{platform}-{}", wanted.arch);
    let file = match tokio::fs::File::open(dir.join(&name)).await {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let why = format!("this server has no {name}");
            return Ok((StatusCode::NOT_FOUND, why).into_response());
        }
        Err(error) => {
            tracing::error!(name, error = %chain(&error), "program for fly sync not read");
            return Err(ApiError::Internal(
                "the program cannot be read; the server's log says why",
            ));
        }
    };
    let length = match file.metadata().await {
        Ok(metadata) if metadata.is_file() => metadata.len(),
        _ => return Err(ApiError::NotFound),
    };
    let file_name = match platform.as_str() {
        "windows" => "attachment; filename=fly.exe",
        _ => "attachment; filename=fly",
    };
    let headers = [
        (CONTENT_TYPE, BINARY.to_owned()),
        (CONTENT_LENGTH, length.to_string()),
        (CONTENT_DISPOSITION, file_name.to_owned()),
    ];
    let body = Body::from_stream(ReaderStream::with_capacity(file, 1 << 18));
    Ok((headers, body).into_response())
}
