//! Jobs, whole and in short.

use airside_config::{Glob, JobInput, JobOutput, VersionSpec, inputs, outputs};
use airside_store::{Build, Job, Micros, Pipeline};
use serde_json::{Value, json};

use super::{Fields, build};
use crate::scope::job_config;

/// A job and what is known of its builds.
pub(crate) struct Shown<'a> {
    pub(crate) pipeline: &'a Pipeline,
    pub(crate) job: &'a Job,
    pub(crate) next: Option<Build>,
    pub(crate) finished: Option<Build>,
}

pub(crate) fn job(shown: &Shown<'_>) -> Value {
    let config = job_config(shown.pipeline, &shown.job.name)
        .cloned()
        .unwrap_or_default();
    common(shown, build::build)
        .maybe(
            "disable_manual_trigger",
            config["disable_manual_trigger"].clone(),
        )
        .maybe("disable_reruns", config["disable_reruns"].clone())
        .done()
}

/// The shorter form in lists.
pub(crate) fn summary(shown: &Shown<'_>) -> Value {
    common(shown, build::summary).done()
}

fn common(shown: &Shown<'_>, present: fn(&Build) -> Value) -> Fields {
    let (pipeline, job) = (shown.pipeline, shown.job);
    let config = job_config(pipeline, &job.name).cloned().unwrap_or_default();
    let config: Option<airside_config::Job> = serde_json::from_value(config).ok();
    Fields::default()
        .with("id", job.id.0)
        .with("name", job.name.as_str())
        .with("team_name", pipeline.team_name.as_str())
        .with("pipeline_id", pipeline.id.0)
        .with("pipeline_name", pipeline.name.as_str())
        .maybe("pipeline_instance_vars", pipeline.instance_vars.to_value())
        .maybe("paused", job.paused)
        .maybe("paused_by", job.paused_by.as_deref())
        .maybe("paused_at", job.paused_at.map(Micros::seconds))
        .maybe("groups", groups(pipeline, &job.name))
        // Both are there even when there is no such build.
        .with("next_build", shown.next.as_ref().map(present))
        .with("finished_build", shown.finished.as_ref().map(present))
        .maybe("inputs", config.as_ref().map(input_list))
        .maybe("outputs", config.as_ref().map(output_list))
}

/// The groups that name the job, by itself or by a pattern.
fn groups(pipeline: &Pipeline, job: &str) -> Vec<String> {
    let matches = |pattern: &Value| {
        pattern
            .as_str()
            .and_then(Glob::new)
            .is_some_and(|pattern| pattern.matches(job))
    };
    let groups = pipeline.config["groups"].as_array().into_iter().flatten();
    groups
        .filter(|group| {
            group["jobs"]
                .as_array()
                .is_some_and(|jobs| jobs.iter().any(matches))
        })
        .filter_map(|group| group["name"].as_str().map(str::to_owned))
        .collect()
}

fn input_list(job: &airside_config::Job) -> Vec<Value> {
    let show = |input: JobInput| {
        let version = (input.version != VersionSpec::Latest).then(|| json!(input.version));
        Fields::default()
            .with("name", input.name)
            .with("resource", input.resource)
            .with("trigger", input.trigger)
            .maybe("passed", input.passed)
            .maybe("version", version)
            .done()
    };
    inputs(job).into_iter().map(show).collect()
}

fn output_list(job: &airside_config::Job) -> Vec<Value> {
    let show = |output: JobOutput| json!({"name": output.name, "resource": output.resource});
    outputs(job).into_iter().map(show).collect()
}
