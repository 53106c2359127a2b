//! Badges, and the list for desktop notifiers.

use std::fmt::Write as _;

use airside_model::BuildStatus;
use airside_store::{BuildBrief, JobOverview, JobsOf, Micros, PipelineSummary};
use axum::{
    extract::{Path, Query, State},
    response::{IntoResponse, Redirect, Response},
};
use http::{Uri, header::CONTENT_TYPE};
use serde::Deserialize;

use super::{jobs::by_pipeline, pipelines::visible_of_team};
use crate::{
    ApiState,
    badge::{badge, escape, worst},
    error::Result,
    scope::RequestScope,
};

#[derive(Deserialize)]
pub(super) struct Title {
    title: Option<String>,
}

impl Title {
    fn text(&self) -> &str {
        self.title
            .as_deref()
            .filter(|title| !title.is_empty())
            .unwrap_or("build")
    }
}

pub(super) async fn job(
    State(state): State<ApiState>,
    scope: RequestScope,
    Query(title): Query<Title>,
) -> Result<Response> {
    let finished = state.store.finished_build(scope.job()?.id).await?;
    Ok(badge(title.text(), finished.map(|build| build.status)))
}

pub(super) async fn pipeline(
    State(state): State<ApiState>,
    scope: RequestScope,
    Query(title): Query<Title>,
) -> Result<Response> {
    let of = JobsOf::Pipeline(scope.pipeline()?.id);
    let jobs = state.store.job_overviews(of).await?;
    let finished = jobs.into_iter().filter_map(|job| job.finished);
    Ok(badge(
        title.text(),
        worst(finished.map(|build| build.status)),
    ))
}

#[derive(Deserialize)]
pub(super) struct JobPath {
    pipeline_name: String,
    job_name: String,
}

/// The path of long ago, when there was one team.
pub(super) async fn of_main(Path(path): Path<JobPath>, uri: Uri) -> Redirect {
    let (pipeline, job) = (segment(&path.pipeline_name), segment(&path.job_name));
    let query = uri
        .query()
        .map_or_else(String::new, |query| format!("?{query}"));
    let to = format!("/api/v1/teams/main/pipelines/{pipeline}/jobs/{job}/badge{query}");
    Redirect::permanent(&to)
}

fn segment(name: &str) -> String {
    let mut escaped = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

/// CCTray XML: every job that has finished a build.
pub(super) async fn cctray(State(state): State<ApiState>, scope: RequestScope) -> Result<Response> {
    let mut xml = String::from("<Projects>");
    let pipelines = visible_of_team(&state, &scope).await?;
    let of = JobsOf::Team(scope.team()?.id);
    let jobs = by_pipeline(state.store.job_overviews(of).await?);
    for pipeline in &pipelines {
        for job in jobs.get(&pipeline.id).into_iter().flatten() {
            if let Some(finished) = &job.finished {
                xml.push_str(&project(&state.external_url, pipeline, job, finished));
            }
        }
    }
    xml.push_str("</Projects>");
    Ok(([(CONTENT_TYPE, "application/xml")], xml).into_response())
}

fn project(
    url: &str,
    pipeline: &PipelineSummary,
    overview: &JobOverview,
    finished: &BuildBrief,
) -> String {
    let next = overview.next.as_ref();
    let activity = if next.is_some_and(|build| build.status == BuildStatus::Started) {
        "Building"
    } else {
        "Sleeping"
    };
    let status = match finished.status {
        BuildStatus::Succeeded => "Success",
        BuildStatus::Failed => "Failure",
        BuildStatus::Errored | BuildStatus::Aborted => "Exception",
        BuildStatus::Pending | BuildStatus::Started => "Unknown",
    };
    let (team, pipeline, job) = (&pipeline.team_name, &pipeline.name, &overview.job.name);
    let ended = finished.ended_at.unwrap_or(Micros(0));
    let time = jiff::Timestamp::from_second(ended.seconds()).unwrap_or_default();
    let web = format!(
        "{url}/teams/{}/pipelines/{}/jobs/{}",
        segment(team),
        segment(pipeline),
        segment(job)
    );
    format!(
        "<Project activity=\"{activity}\" lastBuildLabel=\"{}\" lastBuildStatus=\"{status}\" \
         lastBuildTime=\"{time}\" name=\"{}/{}\" webUrl=\"{}\"/>",
        escape(&finished.name),
        escape(pipeline),
        escape(job),
        escape(&web)
    )
}
