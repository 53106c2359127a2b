//! Jobs of a pipeline.

use airside_store::{BuildFilter, Job, Pausing, Pipeline};
use axum::{
    Json,
    extract::{Query, State},
    response::Response,
};
use http::Uri;
use serde_json::Value;

use crate::{
    ApiState,
    error::{ApiError, Result},
    page::{self, PageQuery},
    present,
    scope::{Scope, job_config},
};

pub(super) async fn list(State(state): State<ApiState>, scope: Scope) -> Result<Json<Vec<Value>>> {
    let pipeline = scope.pipeline()?;
    let mut shown = Vec::new();
    for job in state.store.jobs(pipeline.id).await? {
        shown.push(show(&state, pipeline, &job, present::job::summary).await?);
    }
    Ok(Json(shown))
}

/// Those of every pipeline that whoever asks may see.
pub(super) async fn list_all(
    State(state): State<ApiState>,
    scope: Scope,
) -> Result<Json<Vec<Value>>> {
    let mut shown = Vec::new();
    for summary in super::pipelines::visible(&state, &scope).await? {
        // A pipeline that was destroyed in between has nothing to show.
        let Some(pipeline) = state.store.pipeline_by_id(summary.id).await? else {
            continue;
        };
        for job in state.store.jobs(pipeline.id).await? {
            shown.push(show(&state, &pipeline, &job, present::job::summary).await?);
        }
    }
    Ok(Json(shown))
}

pub(super) async fn pause(State(state): State<ApiState>, scope: Scope) -> Result<()> {
    let by = scope.caller()?.display_user_id();
    let id = scope.job()?.id;
    Ok(state
        .store
        .set_job_paused(id, Pausing::Pause { by })
        .await?)
}

pub(super) async fn unpause(State(state): State<ApiState>, scope: Scope) -> Result<()> {
    let id = scope.job()?.id;
    Ok(state.store.set_job_paused(id, Pausing::Resume).await?)
}

pub(super) async fn get(State(state): State<ApiState>, scope: Scope) -> Result<Json<Value>> {
    let (pipeline, job) = (scope.pipeline()?, scope.job()?);
    Ok(Json(show(&state, pipeline, job, present::job::job).await?))
}

async fn show(
    state: &ApiState,
    pipeline: &Pipeline,
    job: &Job,
    present: fn(&present::job::Shown<'_>) -> Value,
) -> Result<Value> {
    Ok(present(&present::job::Shown {
        pipeline,
        job,
        next: state.store.next_build(job.id).await?,
        finished: state.store.finished_build(job.id).await?,
    }))
}

pub(super) async fn builds(
    State(state): State<ApiState>,
    scope: Scope,
    uri: Uri,
    Query(query): Query<PageQuery>,
) -> Result<Response> {
    let filter = BuildFilter {
        job: Some(scope.job()?.id),
        ..BuildFilter::default()
    };
    page::builds(&state, &uri, &query, &[filter]).await
}

pub(super) async fn trigger(State(state): State<ApiState>, scope: Scope) -> Result<Json<Value>> {
    let (pipeline, job) = (scope.active_pipeline()?, scope.job()?);
    let config = job_config(pipeline, &job.name);
    if config.is_some_and(|config| config["disable_manual_trigger"] == Value::Bool(true)) {
        let why = format!(
            "job `{}` may not be triggered by hand: it says so itself",
            job.name
        );
        return Err(ApiError::Conflict(why));
    }
    let build = state
        .builds
        .trigger(job.id, scope.caller()?.display_user_id())
        .await?;
    Ok(Json(present::build::build(&build)))
}
