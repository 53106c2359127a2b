//! Resources of a pipeline.

use airside_config::ResourceOutline;
use airside_store::{CheckSummary, Micros, PipelineSummary, Resource, ResourceVersion};
use serde_json::{Value, json};

use super::Fields;

pub(crate) fn resource(
    pipeline: &PipelineSummary,
    resource: &Resource,
    checks: Option<&CheckSummary>,
) -> Value {
    // What cannot be read is not shown.
    let outline: ResourceOutline = serde_json::from_str(&resource.outline).unwrap_or_default();
    let pin = resource.pin.as_ref();
    Fields::default()
        .with("name", resource.name.as_str())
        .with("pipeline_id", pipeline.id.0)
        .with("pipeline_name", pipeline.name.as_str())
        .maybe("pipeline_instance_vars", pipeline.instance_vars.to_value())
        .with("team_name", pipeline.team_name.as_str())
        .with("type", resource.type_.as_str())
        .maybe(
            "last_checked",
            checks.and_then(|checks| checks.ended_at.map(Micros::seconds)),
        )
        .maybe("icon", outline.icon)
        .maybe("pinned_version", json!(pin.map(|pin| &pin.version)))
        .maybe("pinned_in_config", pin.is_some_and(|pin| pin.in_config))
        .maybe("pin_comment", pin.map(|pin| pin.comment.as_str()))
        .maybe(
            "build",
            json!(checks.map(|checks| last_check(pipeline, checks))),
        )
        .done()
}

/// The last check as a build. One that went like those before it has the number of the build that
/// shows them, or none at all if everything always went well.
fn last_check(pipeline: &PipelineSummary, checks: &CheckSummary) -> Value {
    let build = checks.build;
    let is_running = build.is_some_and(|build| build.ended_at.is_none());
    let (started_at, ended_at) = match build {
        Some(build) if is_running => (build.started_at, None),
        Some(build) => (
            checks.started_at.or(build.started_at),
            checks.ended_at.or(build.ended_at),
        ),
        None => (checks.started_at, checks.ended_at),
    };
    Fields::default()
        .with("id", build.map_or(0, |build| build.id.0))
        .with("name", "check")
        .with(
            "status",
            build.map_or("succeeded", |build| build.status.as_str()),
        )
        .maybe("start_time", started_at.map(Micros::seconds))
        .maybe("end_time", ended_at.map(Micros::seconds))
        .with("team_name", pipeline.team_name.as_str())
        .with("pipeline_id", pipeline.id.0)
        .with("pipeline_name", pipeline.name.as_str())
        .maybe("pipeline_instance_vars", pipeline.instance_vars.to_value())
        .done()
}

/// Returns true if every user who sees the pipeline may see the content of its versions.
pub(crate) fn is_public(resource: &Resource) -> bool {
    let outline: Result<ResourceOutline, _> = serde_json::from_str(&resource.outline);
    outline.is_ok_and(|outline| outline.public)
}

/// A version of a resource; `whole` with what it is made of.
pub(crate) fn version(version: &ResourceVersion, whole: bool) -> Value {
    let fields = Fields::default().with("id", version.id.0);
    let fields = if whole {
        fields.maybe("metadata", json!(version.metadata))
    } else {
        fields
    };
    fields
        .with("version", json!(version.version))
        .with("enabled", version.enabled)
        .done()
}

/// Returns the names that identify a resource or a type.
pub(crate) fn identifier(pipeline: &PipelineSummary, name: &str) -> Value {
    json!({
        "name": name,
        "pipeline_name": pipeline.name,
        "team_name": pipeline.team_name,
    })
}
