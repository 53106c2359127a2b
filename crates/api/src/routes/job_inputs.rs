//! What the next build of a job would take: `fly execute -j` runs a task with it.

use std::collections::BTreeMap;

use airside_config::{Config, Leaf, VersionSpec};
use airside_model::{PipelineId, Version};
use airside_store::Store;
use axum::{Json, extract::State};
use serde_json::{Value, json};

use crate::{
    ApiState,
    error::{ApiError, Result},
    present::Fields,
    scope::Scope,
};

pub(super) async fn list(State(state): State<ApiState>, scope: Scope) -> Result<Json<Vec<Value>>> {
    let (pipeline, job) = (scope.pipeline()?, scope.job()?);
    let whole = state.store.pipeline_by_id(pipeline.id).await?;
    let whole = whole.ok_or(ApiError::NotFound)?;
    let config: Config = serde_json::from_value(whole.config)
        .map_err(|_| ApiError::Internal("the stored configuration cannot be read"))?;
    let Some(versions) = versions(&state.store, pipeline.id, &config, &job.name).await? else {
        return Err(ApiError::NotFound);
    };
    let mut shown = Vec::new();
    let configured = config.job(&job.name).ok_or(ApiError::NotFound)?;
    configured.visit_leaves(&mut |leaf| {
        let Leaf::Get(get) = leaf else { return };
        let resource = config.resource(get.resource());
        let (Some(resource), Some(version)) = (resource, versions.get(&get.name)) else {
            return;
        };
        let fields = Fields::default()
            .with("name", get.name.as_str())
            .with("resource", get.resource())
            .with("type", resource.type_.as_str())
            .with("source", json!(resource.source.clone().unwrap_or_default()))
            .maybe("params", json!(get.params))
            .with("version", json!(version))
            .maybe("tags", json!(get.tags));
        shown.push(fields.done());
    });
    Ok(Json(shown))
}

/// The version of each input; nothing if one of them has none, or it depends on other jobs.
async fn versions(
    store: &Store,
    pipeline: PipelineId,
    config: &Config,
    job: &str,
) -> Result<Option<BTreeMap<String, Version>>> {
    let Some(job) = config.job(job) else {
        return Ok(None);
    };
    let mut versions = BTreeMap::new();
    for input in airside_config::inputs(job) {
        let pinned = config.resource(&input.resource);
        let pinned = pinned.and_then(|resource| resource.version.clone());
        let version = match (&input.version, pinned) {
            (VersionSpec::Pinned(version), _) => Some(version.clone()),
            (_, Some(version)) => Some(version),
            _ if !input.passed.is_empty() => None,
            _ => match store.resource(pipeline, &input.resource).await? {
                Some(row) => store.latest_version(row.id).await?.map(|(_, found)| found),
                None => None,
            },
        };
        match version {
            Some(version) => versions.insert(input.name, version),
            None => return Ok(None),
        };
    }
    Ok(Some(versions))
}
