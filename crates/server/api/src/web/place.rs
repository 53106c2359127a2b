//! Places of pages: what lies above them, and where builds are.

use airside_store::{Build, InstanceVars, Micros, PipelineSummary};
use airside_ui::{Crumb, PageTime, RowTime};

use super::links::{pipeline_url, team_pipeline_url};

/// Returns the address of the API for a part of a pipeline.
pub(super) fn api_url(pipeline: &PipelineSummary, rest: &[&str]) -> String {
    format!("/api/v1{}", pipeline_url(pipeline, rest))
}

/// Returns the way to a pipeline: its team, and itself.
pub(super) fn crumbs(pipeline: &PipelineSummary) -> Vec<Crumb> {
    let mut own = Crumb::new(&pipeline.name, pipeline_url(pipeline, &[]));
    own.vars = vars_text(&pipeline.instance_vars);
    vec![team_crumb(&pipeline.team_name), own]
}

/// Returns the place of a team: its pipelines on the dashboard.
pub(super) fn team_crumb(team: &str) -> Crumb {
    let search = format!("team:\"{team}\"");
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("search", &search);
    Crumb::new(team, format!("/?{}", query.finish()))
}

/// Returns instance vars as people read them.
pub(super) fn vars_text(vars: &InstanceVars) -> Option<String> {
    let is_plain = |text: &str| serde_json::from_str::<serde_json::Value>(text).is_err();
    (!vars.is_empty()).then(|| airside_vars::InstanceVars(vars.as_map().clone()).shown(is_plain))
}

/// Returns the address of a build: under its job, if it has one.
pub(super) fn build_url(build: &Build) -> String {
    match (&build.pipeline_name, &build.job_name) {
        (Some(pipeline), Some(job)) => {
            let rest = ["jobs", job, "builds", &build.name];
            team_pipeline_url(&build.team_name, pipeline, &build.instance_vars, &rest)
        }
        _ => format!("/builds/{}", build.id.0),
    }
}

/// Returns the time that a build took, or takes.
pub(super) fn took(build: &Build, now: Micros) -> RowTime {
    let started = build.started_at.map(Micros::seconds);
    RowTime::between(started, build.ended_at.map(Micros::seconds), now.seconds())
}

/// Returns a time as a page shows it.
pub(super) fn shown_time(at: Micros, now: Micros) -> PageTime {
    PageTime::new(at.seconds(), now.seconds())
}
