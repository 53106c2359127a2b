//! Resources of a pipeline.

use axum::{
    Json,
    extract::{Path, State},
};
use serde::Deserialize;
use serde_json::Value;

use super::pipelines::visible;
use crate::{
    ApiState,
    error::{ApiError, Result},
    present,
    scope::Scope,
};

pub(super) async fn list(State(state): State<ApiState>, scope: Scope) -> Result<Json<Vec<Value>>> {
    let pipeline = scope.pipeline()?;
    let resources = state.store.resources(pipeline.id).await?;
    let shown = resources
        .iter()
        .map(|resource| present::resource::resource(pipeline, resource));
    Ok(Json(shown.collect()))
}

/// Those of every pipeline that whoever asks may see.
pub(super) async fn list_all(
    State(state): State<ApiState>,
    scope: Scope,
) -> Result<Json<Vec<Value>>> {
    let mut shown = Vec::new();
    for summary in visible(&state, &scope).await? {
        // A pipeline that was destroyed in between has nothing to show.
        let Some(pipeline) = state.store.pipeline_by_id(summary.id).await? else {
            continue;
        };
        for resource in state.store.resources(pipeline.id).await? {
            shown.push(present::resource::resource(&pipeline, &resource));
        }
    }
    Ok(Json(shown))
}

#[derive(Deserialize)]
pub(super) struct ResourceName {
    resource_name: String,
}

pub(super) async fn get(
    State(state): State<ApiState>,
    scope: Scope,
    Path(ResourceName { resource_name }): Path<ResourceName>,
) -> Result<Json<Value>> {
    let pipeline = scope.pipeline()?;
    let resource = state.store.resource(pipeline.id, &resource_name).await?;
    let resource = resource.ok_or(ApiError::NotFound)?;
    Ok(Json(present::resource::resource(pipeline, &resource)))
}

/// Resource types as configured. Their sources may hold passwords, so only the team sees those.
pub(super) async fn types(scope: Scope) -> Result<Json<Vec<Value>>> {
    let pipeline = scope.pipeline()?;
    let mut types = pipeline.config["resource_types"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    if !scope.can_view(scope.team()?) {
        for each in types.iter_mut().filter_map(Value::as_object_mut) {
            each.remove("source");
            each.remove("params");
        }
    }
    Ok(Json(types))
}
