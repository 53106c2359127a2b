//! Resources of a pipeline.

use std::collections::HashMap;

use airside_model::ResourceId;
use airside_store::{CheckSummary, ChecksOf};
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
    scope::RequestScope,
};

pub(super) async fn list(
    State(state): State<ApiState>,
    scope: RequestScope,
) -> Result<Json<Vec<Value>>> {
    let pipeline = scope.pipeline()?;
    let resources = state.store.resources(pipeline.id).await?;
    let checks = checks(&state, ChecksOf::Pipeline(pipeline.id)).await?;
    let shown = resources
        .iter()
        .map(|resource| present::resource::resource(pipeline, resource, checks.get(&resource.id)));
    Ok(Json(shown.collect()))
}

async fn checks(state: &ApiState, of: ChecksOf) -> Result<HashMap<ResourceId, CheckSummary>> {
    let checks = state.store.check_summaries(of).await?;
    Ok(checks.into_iter().collect())
}

/// Lists the resources of every pipeline that the caller may see.
pub(super) async fn list_all(
    State(state): State<ApiState>,
    scope: RequestScope,
) -> Result<Json<Vec<Value>>> {
    let pipelines = visible(&state, &scope).await?;
    let mut sorted: HashMap<_, Vec<_>> = HashMap::new();
    for resource in state.store.all_resources().await? {
        sorted.entry(resource.pipeline).or_default().push(resource);
    }
    let checks = checks(&state, ChecksOf::Everybody).await?;
    let shown = pipelines.iter().flat_map(|pipeline| {
        let resources = sorted.get(&pipeline.id).into_iter().flatten();
        resources.map(|resource| {
            present::resource::resource(pipeline, resource, checks.get(&resource.id))
        })
    });
    Ok(Json(shown.collect()))
}

#[derive(Deserialize)]
pub(super) struct ResourceName {
    pub(super) resource_name: String,
}

pub(super) async fn get(
    State(state): State<ApiState>,
    scope: RequestScope,
    Path(ResourceName { resource_name }): Path<ResourceName>,
) -> Result<Json<Value>> {
    let pipeline = scope.pipeline()?;
    let resource = state.store.resource(pipeline.id, &resource_name).await?;
    let resource = resource.ok_or(ApiError::NotFound)?;
    let checks = checks(&state, ChecksOf::Resource(resource.id)).await?;
    let shown = present::resource::resource(pipeline, &resource, checks.get(&resource.id));
    Ok(Json(shown))
}

/// The part of a configuration that this file shows.
#[derive(Deserialize)]
struct Types {
    #[serde(default)]
    resource_types: Vec<Value>,
}

/// A resource type of the pipeline, if it has one of this name.
pub(super) async fn find_type(state: &ApiState, scope: &RequestScope, name: &str) -> Result<Value> {
    let config = state.store.pipeline_config(scope.pipeline()?.id).await?;
    let (config, _) = config.ok_or(ApiError::NotFound)?;
    let Types { resource_types } = serde_json::from_str(&config)
        .map_err(|_| ApiError::Internal("a configuration cannot be read"))?;
    let mut named = resource_types.into_iter().filter(|one| one["name"] == name);
    named.next().ok_or(ApiError::NotFound)
}

/// Resource types as configured. Their sources may hold passwords, so only the team sees those.
pub(super) async fn types(
    State(state): State<ApiState>,
    scope: RequestScope,
) -> Result<Json<Vec<Value>>> {
    let config = state.store.pipeline_config(scope.pipeline()?.id).await?;
    let (config, _) = config.ok_or(ApiError::NotFound)?;
    let Types { resource_types } = serde_json::from_str(&config)
        .map_err(|_| ApiError::Internal("a configuration cannot be read"))?;
    let mut types = resource_types;
    if !scope.can_view(scope.team()?) {
        for each in types.iter_mut().filter_map(Value::as_object_mut) {
            each.remove("source");
            each.remove("params");
        }
    }
    Ok(Json(types))
}
