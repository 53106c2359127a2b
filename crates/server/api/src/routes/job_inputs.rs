//! Inputs that the next build of a job would take: `fly execute -j` runs a task with them.

use std::collections::BTreeMap;

use airside_config::{Config, Leaf};
use airside_model::Version;
use axum::{Json, extract::State};
use serde_json::{Value, json};

use crate::{
    ApiState,
    error::{ApiError, Result},
    present::Fields,
    scope::RequestScope,
};

pub(super) async fn list(
    State(state): State<ApiState>,
    scope: RequestScope,
) -> Result<Json<Vec<Value>>> {
    let (pipeline, job) = (scope.pipeline()?, scope.job()?);
    let whole = state.store.pipeline_by_id(pipeline.id).await?;
    let whole = whole.ok_or(ApiError::NotFound)?;
    let config: Config = serde_json::from_value(whole.config)
        .map_err(|_| ApiError::Internal("the stored configuration cannot be read"))?;
    let versions = state.store.next_versions(job.id).await?;
    let versions: BTreeMap<String, Version> = versions
        .ok_or(ApiError::NotFound)?
        .into_iter()
        .map(|(name, _, version)| (name, version))
        .collect();
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
