//! Facts about the server.

use axum::{Json, extract::State};
use serde_json::{Value, json};

use crate::{ApiState, CONCOURSE_VERSION, WORKER_VERSION};

pub(super) async fn info(State(state): State<ApiState>) -> Json<Value> {
    Json(json!({
        "version": CONCOURSE_VERSION,
        "worker_version": WORKER_VERSION,
        "feature_flags": {
            "global_resources": false,
            "build_rerun": false,
            "cache_streamed_volumes": false,
            "resource_causality": false,
        },
        "external_url": &*state.external_url,
        "airside_version": &*state.version,
    }))
}
