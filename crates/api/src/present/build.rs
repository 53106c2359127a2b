//! Builds.

use airside_store::{Build, Micros};
use serde_json::Value;

use super::Fields;

pub(crate) fn build(build: &Build) -> Value {
    Fields::default()
        .with("id", build.id.0)
        .with("team_name", build.team_name.as_str())
        .with("name", build.name.as_str())
        .with("status", build.status.as_str())
        .with("api_url", format!("/api/v1/builds/{}", build.id))
        .maybe("job_name", build.job_name.as_deref())
        .maybe("pipeline_id", build.pipeline.map(|id| id.0))
        .maybe("pipeline_name", build.pipeline_name.as_deref())
        .maybe("pipeline_instance_vars", build.instance_vars.to_value())
        .maybe("start_time", build.started_at.map(Micros::seconds))
        .maybe("end_time", build.ended_at.map(Micros::seconds))
        .maybe("created_by", build.created_by.as_deref())
        .done()
}
