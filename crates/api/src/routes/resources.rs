//! Resources of a pipeline.

use axum::{Json, extract::State};
use serde_json::Value;

use crate::{ApiState, error::Result, present, scope::Scope};

pub(super) async fn list(State(state): State<ApiState>, scope: Scope) -> Result<Json<Vec<Value>>> {
    let pipeline = scope.pipeline()?;
    let resources = state.store.resources(pipeline.id).await?;
    let shown = resources
        .iter()
        .map(|resource| present::resource::resource(pipeline, resource));
    Ok(Json(shown.collect()))
}
