//! What hangs together with a version, and the scheduler's data as a whole, for people who look for faults.

use airside_model::ResourceVersionId;
use airside_store::Direction;
use axum::{
    Json,
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    ApiState,
    error::{ApiError, Result},
    present,
    scope::Scope,
};

#[derive(Deserialize)]
pub(super) struct NamedVersion {
    resource_name: String,
    resource_config_version_id: i64,
}

pub(super) async fn downstream(
    State(state): State<ApiState>,
    scope: Scope,
    Path(path): Path<NamedVersion>,
) -> Result<Response> {
    causality(&state, &scope, &path, Direction::Downstream).await
}

pub(super) async fn upstream(
    State(state): State<ApiState>,
    scope: Scope,
    Path(path): Path<NamedVersion>,
) -> Result<Response> {
    causality(&state, &scope, &path, Direction::Upstream).await
}

async fn causality(
    state: &ApiState,
    scope: &Scope,
    path: &NamedVersion,
    direction: Direction,
) -> Result<Response> {
    let store = &state.store;
    let resource = store.resource(scope.pipeline()?.id, &path.resource_name);
    let resource = resource.await?.ok_or(ApiError::NotFound)?;
    let id = ResourceVersionId(path.resource_config_version_id);
    let version = store.version(resource.id, id).await?;
    let version = version.ok_or(ApiError::NotFound)?;
    let Some(causality) = store.causality(version.id, direction).await? else {
        return Ok(StatusCode::UNPROCESSABLE_ENTITY.into_response());
    };
    let shown = present::causality::causality(&causality, resource.id, direction);
    Ok(Json(shown).into_response())
}

/// Everything that the scheduler judges by.
pub(super) async fn versions_db(
    State(state): State<ApiState>,
    scope: Scope,
) -> Result<Json<Value>> {
    let (store, pipeline) = (&state.store, scope.pipeline()?.id);
    let jobs = store.jobs(pipeline).await?;
    let jobs = jobs
        .iter()
        .map(|job| json!({"Name": job.name, "ID": job.id}));
    let resources = store.resources(pipeline).await?;
    let places = store.all_places(pipeline).await?;
    let place = |version: ResourceVersionId| {
        let found = places.iter().find(|(_, id, ..)| *id == version);
        found.map(|(resource, id, order, scope)| {
            json!({"VersionID": id, "ResourceID": resource, "CheckOrder": order, "ScopeID": scope})
        })
    };
    let resources = resources.iter().map(|resource| {
        let place = places.iter().find(|(of, ..)| *of == resource.id);
        let scope = place.map(|(_, _, _, scope)| scope);
        json!({"Name": resource.name, "ID": resource.id, "ScopeID": scope})
    });
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for (build, job, version, name) in store.all_uses(pipeline).await? {
        let Some(mut shown) = place(version) else {
            continue;
        };
        shown["BuildID"] = json!(build);
        shown["JobID"] = json!(job);
        match name {
            Some(name) => {
                shown["InputName"] = json!(name);
                inputs.push(shown);
            }
            None => outputs.push(shown),
        }
    }
    let reruns = store.all_reruns(pipeline).await?;
    let reruns = reruns
        .iter()
        .map(|(build, job, of)| json!({"BuildID": build, "JobID": job, "RerunOf": of}));
    Ok(Json(json!({
        "Jobs": jobs.collect::<Vec<_>>(),
        "Resources": resources.collect::<Vec<_>>(),
        "ResourceVersions": places.iter().filter_map(|one| place(one.1)).collect::<Vec<_>>(),
        "BuildOutputs": outputs,
        "BuildInputs": inputs,
        "BuildReruns": reruns.collect::<Vec<_>>(),
    })))
}
