//! Jobs of a pipeline.

use std::collections::HashMap;

use airside_model::PipelineId;
use airside_store::{BuildFilter, JobOverview, JobsOf, Pausing};
use axum::{
    Json,
    extract::{Path, Query, State},
    response::{IntoResponse, Response},
};
use http::Uri;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    ApiState,
    error::{ApiError, Result},
    page::{self, PageQuery},
    present,
    scope::{RequestScope, job_outline},
};

pub(super) async fn list(State(state): State<ApiState>, scope: RequestScope) -> Result<Response> {
    let pipeline = scope.pipeline()?;
    let found = state.store.job_overviews(JobsOf::Pipeline(pipeline.id));
    let mut jobs = found.await?;
    if !scope.is_insider() {
        hide_people(&mut jobs);
    }
    let shown: Vec<_> = jobs
        .iter()
        .map(|job| present::job::listed(pipeline, job))
        .collect();
    Ok(Json(shown).into_response())
}

/// Lists the jobs of every pipeline that the caller may see.
pub(super) async fn list_all(
    State(state): State<ApiState>,
    scope: RequestScope,
) -> Result<Response> {
    let pipelines = super::pipelines::visible(&state, &scope).await?;
    let mut jobs = by_pipeline(state.store.job_overviews(JobsOf::Everybody).await?);
    let teams = state.store.teams().await?;
    let viewed = |team| {
        teams
            .iter()
            .any(|own| own.id == team && scope.can_view(own))
    };
    for pipeline in pipelines.iter().filter(|pipeline| !viewed(pipeline.team)) {
        hide_people(
            jobs.get_mut(&pipeline.id)
                .map_or(&mut [], Vec::as_mut_slice),
        );
    }
    let shown: Vec<_> = pipelines
        .iter()
        .flat_map(|pipeline| {
            let jobs = jobs.get(&pipeline.id).into_iter().flatten();
            jobs.map(move |job| present::job::listed(pipeline, job))
        })
        .collect();
    Ok(Json(shown).into_response())
}

/// Leaves out who paused a job.
fn hide_people(jobs: &mut [JobOverview]) {
    for overview in jobs {
        overview.job.paused_by = None;
    }
}

pub(super) fn by_pipeline(jobs: Vec<JobOverview>) -> HashMap<PipelineId, Vec<JobOverview>> {
    let mut sorted: HashMap<_, Vec<_>> = HashMap::new();
    for job in jobs {
        sorted.entry(job.job.pipeline).or_default().push(job);
    }
    sorted
}

pub(super) async fn pause(State(state): State<ApiState>, scope: RequestScope) -> Result<()> {
    let by = scope.caller()?.display_user_id();
    let id = scope.job()?.id;
    Ok(state
        .store
        .set_job_paused(id, Pausing::Pause { by })
        .await?)
}

pub(super) async fn unpause(State(state): State<ApiState>, scope: RequestScope) -> Result<()> {
    let id = scope.job()?.id;
    Ok(state.store.set_job_paused(id, Pausing::Resume).await?)
}

pub(super) async fn get(State(state): State<ApiState>, scope: RequestScope) -> Result<Response> {
    let (pipeline, job) = (scope.pipeline()?, scope.job()?);
    let mut next = state.store.next_build(job.id).await?;
    let mut finished = state.store.finished_build(job.id).await?;
    if !scope.is_insider() {
        for build in next.iter_mut().chain(&mut finished) {
            build.created_by = None;
        }
    }
    let shown = present::job::job(pipeline, job, next.as_ref(), finished.as_ref());
    Ok(Json(shown).into_response())
}

pub(super) async fn builds(
    State(state): State<ApiState>,
    scope: RequestScope,
    uri: Uri,
    Query(query): Query<PageQuery>,
) -> Result<Response> {
    let filter = BuildFilter {
        job: Some(scope.job()?.id),
        ..BuildFilter::default()
    };
    page::builds(&state, &scope, &uri, &query, &[filter]).await
}

pub(super) async fn trigger(
    State(state): State<ApiState>,
    scope: RequestScope,
) -> Result<Json<Value>> {
    scope.active_pipeline()?;
    let job = scope.job()?;
    if let Some(why) = job_outline(job).trigger_refusal(&job.name) {
        return Err(ApiError::Conflict(why));
    }
    let build = state
        .builds
        .trigger(job.id, scope.caller()?.display_user_id())
        .await?;
    Ok(Json(present::build::build(&build)))
}

/// Runs a build of the job again, with the inputs that it had.
pub(super) async fn rerun(
    State(state): State<ApiState>,
    scope: RequestScope,
) -> Result<Json<Value>> {
    scope.active_pipeline()?;
    let (job, build) = (scope.job()?, scope.build()?);
    if let Some(why) = job_outline(job).rerun_refusal(&job.name, true) {
        return Err(ApiError::Conflict(why));
    }
    if !build.inputs_ready {
        // Concourse answers so, and fly shows it.
        return Err(ApiError::Internal(
            "the build never had its inputs, so there is nothing to repeat",
        ));
    }
    let by = scope.caller()?.display_user_id();
    let rerun = state.builds.rerun(build, by).await?;
    Ok(Json(present::build::build(&rerun)))
}

/// Has the scheduler look at the job now.
pub(super) async fn schedule(State(state): State<ApiState>, scope: RequestScope) -> Result<()> {
    state.store.ask_for_job(scope.job()?.id);
    Ok(())
}

#[derive(Deserialize)]
pub(super) struct NamedStep {
    step_name: String,
}

#[derive(Deserialize)]
pub(super) struct WhichCache {
    cache_path: Option<String>,
}

/// The next build of the job begins without what this step kept, all of it or one folder.
pub(super) async fn clear_task_cache(
    State(state): State<ApiState>,
    scope: RequestScope,
    Path(step): Path<NamedStep>,
    Query(which): Query<WhichCache>,
) -> Result<Json<Value>> {
    let path = which.cache_path.as_deref().filter(|path| !path.is_empty());
    let removed = state
        .store
        .clear_task_caches(scope.job()?.id, &step.step_name, path)
        .await?;
    Ok(Json(json!({"caches_removed": removed})))
}
