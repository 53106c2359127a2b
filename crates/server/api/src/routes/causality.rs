//! Builds and versions that hang together with a version, and the scheduler's data as a whole, for
//! users who look for faults.

use std::collections::HashMap;

use airside_model::{BuildId, JobId, ResourceId, ResourceVersionId};
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
    scope::RequestScope,
};

#[derive(Deserialize)]
pub(super) struct NamedVersion {
    resource_name: String,
    resource_config_version_id: i64,
}

pub(super) async fn downstream(
    State(state): State<ApiState>,
    scope: RequestScope,
    Path(path): Path<NamedVersion>,
) -> Result<Response> {
    causality(&state, &scope, &path, Direction::Downstream).await
}

pub(super) async fn upstream(
    State(state): State<ApiState>,
    scope: RequestScope,
    Path(path): Path<NamedVersion>,
) -> Result<Response> {
    causality(&state, &scope, &path, Direction::Upstream).await
}

async fn causality(
    state: &ApiState,
    scope: &RequestScope,
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
    scope: RequestScope,
) -> Result<Json<Value>> {
    let (store, pipeline) = (&state.store, scope.pipeline()?.id);
    let jobs = store.jobs(pipeline).await?;
    let jobs = jobs.iter();
    let jobs = jobs.map(|job| json!({"Name": job.name, "ID": job.id}));
    let resources = store.resources(pipeline).await?.into_iter();
    let data = VersionsData {
        jobs: jobs.collect(),
        resources: resources.map(|one| (one.name, one.id)).collect(),
        places: store.all_places(pipeline).await?,
        uses: store.all_uses(pipeline).await?,
        reruns: store.all_reruns(pipeline).await?,
    };
    // A long history takes a while to write down, and others want to be served meanwhile.
    let shown = airside_tasks::blocking("versions of a pipeline", move || data.shown()).await;
    Ok(Json(shown.map_err(|_| ApiError::FAULT)?))
}

/// The scheduler's data of one pipeline, as the store has it.
struct VersionsData {
    jobs: Vec<Value>,
    resources: Vec<(String, ResourceId)>,
    places: Vec<(ResourceId, ResourceVersionId, i64, i64)>,
    uses: Vec<(BuildId, JobId, ResourceVersionId, Option<String>)>,
    reruns: Vec<(BuildId, JobId, BuildId)>,
}

impl VersionsData {
    /// Takes time in proportion to the data.
    fn shown(self) -> Value {
        let (mut versions, mut scopes) = (HashMap::new(), HashMap::new());
        for (resource, id, order, scope) in &self.places {
            let shown = json!({"VersionID": id, "ResourceID": resource, "CheckOrder": order, "ScopeID": scope});
            versions.insert(*id, shown);
            scopes.entry(*resource).or_insert(*scope);
        }
        let resources = self
            .resources
            .iter()
            .map(|(name, id)| json!({"Name": name, "ID": id, "ScopeID": scopes.get(id)}));
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for (build, job, version, name) in self.uses {
            let Some(mut shown) = versions.get(&version).cloned() else {
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
        let reruns = self.reruns.iter();
        let reruns =
            reruns.map(|(build, job, of)| json!({"BuildID": build, "JobID": job, "RerunOf": of}));
        let places = self.places.iter();
        json!({
            "Jobs": self.jobs,
            "Resources": resources.collect::<Vec<_>>(),
            "ResourceVersions": places.filter_map(|(_, id, ..)| versions.get(id)).collect::<Vec<_>>(),
            "BuildOutputs": outputs,
            "BuildInputs": inputs,
            "BuildReruns": reruns.collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn hostile_histories_take_time_in_proportion() {
        let versions = 60_000;
        let data = VersionsData {
            jobs: Vec::new(),
            resources: vec![("r".to_owned(), ResourceId(1))],
            places: (0..versions)
                .map(|id| (ResourceId(1), ResourceVersionId(id), id, 1))
                .collect(),
            uses: (0..versions)
                .map(|id| (BuildId(id), JobId(1), ResourceVersionId(id), None))
                .collect(),
            reruns: Vec::new(),
        };
        let began = Instant::now();
        let shown = data.shown();
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "{:?}",
            began.elapsed()
        );
        assert_eq!(shown["BuildOutputs"].as_array().map(Vec::len), Some(60_000));
        assert_eq!(shown["BuildOutputs"][59_999]["CheckOrder"], 59_999);
        assert_eq!(shown["Resources"][0]["ScopeID"], 1);
    }
}
