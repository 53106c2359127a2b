//! Containers of a team's builds.

use std::collections::{HashMap, hash_map::Entry};

use airside_model::{BuildId, Handle};
use airside_store::{Build, Container, ContainerFilter};
use axum::{
    Json,
    extract::{Path, Query, State},
};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    ApiState,
    error::{ApiError, Result},
    guard, present,
    scope::RequestScope,
};

/// A choice of containers; all fields that are given must match.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ContainerQuery {
    #[serde(rename = "type")]
    kind: Option<String>,
    step_name: Option<String>,
    attempt: Option<u32>,
    pipeline_id: Option<i64>,
    pipeline_name: Option<String>,
    job_id: Option<i64>,
    job_name: Option<String>,
    build_id: Option<i64>,
    build_name: Option<String>,
    /// The instance vars of the pipeline, as JSON.
    #[serde(default, rename = "vars")]
    instance_vars: Option<String>,
    /// One whose checks run in it.
    resource_name: Option<String>,
}

impl ContainerQuery {
    fn matches(&self, container: &Container, build: &Build) -> bool {
        let labels = &container.labels;
        same(&self.kind, Some(labels.kind.as_str()))
            && same(&self.step_name, Some(&labels.step))
            && same(&self.pipeline_name, build.pipeline_name.as_deref())
            && same(&self.job_name, build.job_name.as_deref())
            && same(&self.build_name, Some(&build.name))
            && same_id(self.attempt, Some(container.attempt))
            && same_id(self.pipeline_id, build.pipeline.map(|id| id.0))
            && same_id(self.job_id, build.job.map(|id| id.0))
            && same_id(self.build_id, Some(build.id.0))
            && self.same_instance(build)
    }

    /// Instances of a name are told apart only by those who say which they mean.
    fn same_instance(&self, build: &Build) -> bool {
        let Some(wanted) = &self.instance_vars else {
            return true;
        };
        let pair = [("vars".to_owned(), wanted.clone())];
        guard::instance_vars(&pair).is_ok_and(|vars| vars == build.instance_vars)
    }
}

fn same(wanted: &Option<String>, actual: Option<&str>) -> bool {
    wanted.is_none() || wanted.as_deref() == actual
}

fn same_id<T: PartialEq>(wanted: Option<T>, actual: Option<T>) -> bool {
    wanted.is_none() || wanted == actual
}

pub(super) async fn list(
    State(state): State<ApiState>,
    scope: RequestScope,
    Query(wanted): Query<ContainerQuery>,
) -> Result<Json<Vec<Value>>> {
    let filter = ContainerFilter {
        team: Some(scope.team()?.id),
        build: wanted.build_id.map(BuildId),
        ..ContainerFilter::default()
    };
    let mut builds: HashMap<BuildId, Option<Build>> = HashMap::new();
    let mut shown = Vec::new();
    for container in state.store.containers(&filter).await? {
        let id = container.build;
        if let Entry::Vacant(unknown) = builds.entry(id) {
            unknown.insert(state.store.build(id).await?);
        }
        // A build that was destroyed in between takes its containers with it.
        let Some(Some(build)) = builds.get(&id) else {
            continue;
        };
        if wanted.matches(&container, build)
            && is_checked_in(&state, &wanted, &container, build).await?
        {
            shown.push(present::container::container(&container, build));
        }
    }
    Ok(Json(shown))
}

/// Returns true if the wanted resource is checked in this container: it is its own, or its type's,
/// which those of one pipeline share.
async fn is_checked_in(
    state: &ApiState,
    wanted: &ContainerQuery,
    container: &Container,
    build: &Build,
) -> Result<bool> {
    let (Some(wanted), Some(pipeline)) = (&wanted.resource_name, build.pipeline) else {
        return Ok(wanted.resource_name.is_none());
    };
    let first = &container.labels.step;
    if wanted == first {
        return Ok(true);
    }
    let store = &state.store;
    let (wanted, first) = (
        store.resource(pipeline, wanted).await?,
        store.resource(pipeline, first).await?,
    );
    Ok(wanted
        .zip(first)
        .is_some_and(|(wanted, first)| wanted.type_ == first.type_))
}

#[derive(Deserialize)]
pub(super) struct Named {
    handle: String,
}

pub(super) async fn get(
    State(state): State<ApiState>,
    scope: RequestScope,
    Path(named): Path<Named>,
) -> Result<Json<Value>> {
    let (container, build) = find(&state, &scope, named).await?;
    Ok(Json(present::container::container(&container, &build)))
}

/// A container of the team that the path names; another team's is not there.
pub(super) async fn find(
    state: &ApiState,
    scope: &RequestScope,
    named: Named,
) -> Result<(Container, Build)> {
    let found = state.store.container(&Handle::new(named.handle)).await?;
    let container = found.ok_or(ApiError::NotFound)?;
    let build = state.store.build(container.build).await?;
    let team = scope.team()?.id;
    match build.filter(|build| build.team == team) {
        Some(build) => Ok((container, build)),
        None => Err(ApiError::NotFound),
    }
}
