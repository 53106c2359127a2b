//! Badges, and the list for desktop notifiers.

use std::fmt::Write as _;

use airside_model::BuildStatus;
use airside_store::{Build, Micros};
use axum::{
    extract::{Path, Query, State},
    response::{IntoResponse, Redirect, Response},
};
use http::{Uri, header::CONTENT_TYPE};
use serde::Deserialize;

use super::pipelines::visible_of_team;
use crate::{
    ApiState,
    badge::{badge, escape, worst},
    error::Result,
    scope::Scope,
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
    scope: Scope,
    Query(title): Query<Title>,
) -> Result<Response> {
    let finished = state.store.finished_build(scope.job()?.id).await?;
    Ok(badge(title.text(), finished.map(|build| build.status)))
}

pub(super) async fn pipeline(
    State(state): State<ApiState>,
    scope: Scope,
    Query(title): Query<Title>,
) -> Result<Response> {
    let mut statuses = Vec::new();
    for job in state.store.jobs(scope.pipeline()?.id).await? {
        statuses.extend(
            state
                .store
                .finished_build(job.id)
                .await?
                .map(|build| build.status),
        );
    }
    Ok(badge(title.text(), worst(statuses.into_iter())))
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
pub(super) async fn cctray(State(state): State<ApiState>, scope: Scope) -> Result<Response> {
    let mut xml = String::from("<Projects>");
    for pipeline in visible_of_team(&state, &scope).await? {
        for job in state.store.jobs(pipeline.id).await? {
            let Some(finished) = state.store.finished_build(job.id).await? else {
                continue;
            };
            let next = state.store.next_build(job.id).await?;
            let project = project(&state.external_url, &finished, next.as_ref());
            xml.push_str(&project);
        }
    }
    xml.push_str("</Projects>");
    Ok(([(CONTENT_TYPE, "application/xml")], xml).into_response())
}

fn project(url: &str, finished: &Build, next: Option<&Build>) -> String {
    let activity = match next.is_some_and(|build| build.status == BuildStatus::Started) {
        true => "Building",
        false => "Sleeping",
    };
    let status = match finished.status {
        BuildStatus::Succeeded => "Success",
        BuildStatus::Failed => "Failure",
        BuildStatus::Errored | BuildStatus::Aborted => "Exception",
        BuildStatus::Pending | BuildStatus::Started => "Unknown",
    };
    let pipeline = finished.pipeline_name.as_deref().unwrap_or_default();
    let job = finished.job_name.as_deref().unwrap_or_default();
    let ended = finished.ended_at.unwrap_or(Micros(0));
    let time = jiff::Timestamp::from_second(ended.seconds()).unwrap_or_default();
    let web = format!(
        "{url}/teams/{}/pipelines/{}/jobs/{}",
        segment(&finished.team_name),
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
