//! Jobs, whole and in lists. Serialised straight from what the store has: a pipeline may have
//! hundreds.

use airside_store::{Build, BuildBrief, Job, JobOverview, Micros, PipelineSummary};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};

use super::{build, pipeline::given};

/// A job with its builds as `B`.
#[derive(Serialize)]
pub(crate) struct Shown<'a, B> {
    id: i64,
    name: &'a str,
    team_name: &'a str,
    pipeline_id: i64,
    pipeline_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pipeline_instance_vars: Option<&'a Map<String, Value>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    paused: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    paused_by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paused_at: Option<i64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    has_new_inputs: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<&'a RawValue>,
    // Both are there even when there is no such build.
    next_build: Option<B>,
    finished_build: Option<B>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inputs: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outputs: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    disable_manual_trigger: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    disable_reruns: bool,
}

/// A build inside a list of jobs.
#[derive(Serialize)]
pub(crate) struct Brief<'a> {
    id: i64,
    name: &'a str,
    status: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_time: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_time: Option<i64>,
    team_name: &'a str,
    pipeline_id: i64,
    pipeline_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pipeline_instance_vars: Option<&'a Map<String, Value>>,
    job_name: &'a str,
}

/// An [`airside_config::JobOutline`] as it was written, not taken apart.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Outline<'a> {
    #[serde(borrow)]
    groups: Option<&'a RawValue>,
    #[serde(borrow)]
    inputs: Option<&'a RawValue>,
    #[serde(borrow)]
    outputs: Option<&'a RawValue>,
    disable_manual_trigger: bool,
    disable_reruns: bool,
}

/// A job by itself.
pub(crate) fn job<'a>(
    pipeline: &'a PipelineSummary,
    job: &'a Job,
    next: Option<&Build>,
    finished: Option<&Build>,
) -> Shown<'a, Value> {
    let outline = outline(job);
    Shown {
        disable_manual_trigger: outline.disable_manual_trigger,
        disable_reruns: outline.disable_reruns,
        ..common(
            pipeline,
            job,
            &outline,
            next.map(build::build),
            finished.map(build::build),
        )
    }
}

/// The shorter form in lists.
pub(crate) fn listed<'a>(
    pipeline: &'a PipelineSummary,
    overview: &'a JobOverview,
) -> Shown<'a, Brief<'a>> {
    let job = &overview.job;
    let brief = |build: &'a BuildBrief| Brief {
        id: build.id.0,
        name: &build.name,
        status: build.status.as_str(),
        start_time: build.started_at.map(Micros::seconds),
        end_time: build.ended_at.map(Micros::seconds),
        team_name: &pipeline.team_name,
        pipeline_id: pipeline.id.0,
        pipeline_name: &pipeline.name,
        pipeline_instance_vars: given(&pipeline.instance_vars),
        job_name: &job.name,
    };
    let (next, finished) = (overview.next.as_ref(), overview.finished.as_ref());
    common(
        pipeline,
        job,
        &outline(job),
        next.map(brief),
        finished.map(brief),
    )
}

/// Returns a job's outline; one that cannot be read is not shown.
fn outline(job: &Job) -> Outline<'_> {
    serde_json::from_str(&job.outline).unwrap_or_default()
}

fn common<'a, B>(
    pipeline: &'a PipelineSummary,
    job: &'a Job,
    outline: &Outline<'a>,
    next_build: Option<B>,
    finished_build: Option<B>,
) -> Shown<'a, B> {
    Shown {
        id: job.id.0,
        name: &job.name,
        team_name: &pipeline.team_name,
        pipeline_id: pipeline.id.0,
        pipeline_name: &pipeline.name,
        pipeline_instance_vars: given(&pipeline.instance_vars),
        paused: job.paused,
        paused_by: job.paused_by.as_deref(),
        paused_at: job.paused_at.map(Micros::seconds),
        has_new_inputs: job.has_new_inputs,
        groups: outline.groups,
        next_build,
        finished_build,
        inputs: outline.inputs,
        outputs: outline.outputs,
        disable_manual_trigger: false,
        disable_reruns: false,
    }
}
