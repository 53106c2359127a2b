//! Containers of a team's builds.

use std::collections::{HashMap, hash_map::Entry};

use airside_model::BuildId;
use airside_store::{Build, Container, ContainerFilter};
use axum::{
    Json,
    extract::{Query, State},
};
use serde::Deserialize;
use serde_json::Value;

use crate::{ApiState, error::Result, present, scope::Scope};

/// Which containers are wanted; everything that is given must match.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Wanted {
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
}

impl Wanted {
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
    scope: Scope,
    Query(wanted): Query<Wanted>,
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
        if wanted.matches(&container, build) {
            shown.push(present::container::container(&container, build));
        }
    }
    Ok(Json(shown))
}
