//! Files of pages. Their address names the edition, so browsers may keep them for a year.

use airside_ui::asset;
use axum::{
    Router,
    extract::Path,
    response::{IntoResponse, Response},
    routing::get,
};
use http::{
    StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE},
};

use crate::ApiState;

const FOR_A_YEAR: &str = "public, max-age=31536000, immutable";
/// A page of an earlier edition is still open somewhere: its files are served as they are now.
const FOR_NOW: &str = "no-cache";

pub(crate) fn assets() -> Router<ApiState> {
    Router::new()
        .route("/airside/assets/{edition}/{name}", get(serve))
        .route("/airside/hello.yml", get(hello))
}

async fn serve(Path((edition, name)): Path<(String, String)>) -> Response {
    let Some(file) = asset(&name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let keep = if edition == airside_ui::edition() {
        FOR_A_YEAR
    } else {
        FOR_NOW
    };
    let headers = [(CONTENT_TYPE, file.content_type), (CACHE_CONTROL, keep)];
    (headers, file.bytes).into_response()
}

/// Serves the first pipeline that the empty dashboard offers.
async fn hello() -> Response {
    let headers = [(CONTENT_TYPE, "text/yaml; charset=utf-8")];
    (headers, include_str!("../../../../../examples/hello.yml")).into_response()
}
