//! Builds.

use airside_store::{Build, BuildVersions, Micros};
use serde_json::{Map, Value, json};

use super::Fields;
use crate::{Blocking, Prepared};

pub(crate) fn build(build: &Build) -> Value {
    let rerun = build.rerun_of.as_ref();
    Fields::default()
        .with("id", build.id.0)
        .with("team_name", build.team_name.as_str())
        .with("name", build.name.as_str())
        .with("status", build.status.as_str())
        .with("api_url", format!("/api/v1/builds/{}", build.id))
        .maybe("job_name", build.job_name.as_deref())
        .maybe("resource_name", build.resource_name.as_deref())
        .maybe("pipeline_id", build.pipeline.map(|id| id.0))
        .maybe("pipeline_name", build.pipeline_name.as_deref())
        .maybe("pipeline_instance_vars", build.instance_vars.to_value())
        .maybe("start_time", build.started_at.map(Micros::seconds))
        .maybe("end_time", build.ended_at.map(Micros::seconds))
        .maybe("reap_time", build.reaped_at.map(Micros::seconds))
        .maybe("created_by", build.created_by.as_deref())
        .maybe("rerun_number", rerun.map(|rerun| rerun.number))
        .maybe(
            "rerun_of",
            rerun.map(|rerun| json!({"id": rerun.build, "name": rerun.name})),
        )
        .done()
}

/// Returns the inputs and outputs of a build.
pub(crate) fn versions(versions: &BuildVersions) -> Value {
    let inputs = versions.inputs.iter().map(|input| {
        json!({
            "name": input.name,
            "version": input.version,
            "pipeline_id": input.pipeline,
            "first_occurrence": input.first_occurrence,
        })
    });
    let outputs = versions.outputs.iter();
    let outputs = outputs.map(|output| json!({"name": output.name, "version": output.version}));
    json!({"inputs": inputs.collect::<Vec<_>>(), "outputs": outputs.collect::<Vec<_>>()})
}

/// Returns the reasons that hold a build up.
pub(crate) fn preparation(build: &Build, prepared: &Prepared) -> Value {
    let blocking = |blocks: bool| Blocking::from(blocks).as_str();
    let preparation = &prepared.preparation;
    let (mut inputs, mut reasons) = (Map::new(), Map::new());
    for (name, reason) in &prepared.inputs {
        inputs.insert(name.clone(), blocking(reason.is_some()).into());
        if let Some(reason) = reason {
            reasons.insert(name.clone(), reason.as_str().into());
        }
    }
    json!({
        "build_id": build.id,
        "paused_pipeline": preparation.paused_pipeline.as_str(),
        "paused_job": preparation.paused_job.as_str(),
        "max_running_builds": preparation.max_running_builds.as_str(),
        "inputs": inputs,
        "inputs_satisfied": blocking(!reasons.is_empty()),
        "missing_input_reasons": reasons,
    })
}
