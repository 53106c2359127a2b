//! Objects as they should be: a pure function of what the store has.

use airside_config::JobOutline;
use airside_control_objects::{
    ClusterBuild, ClusterBuildPhase, ClusterBuildSpec, ClusterBuildStatus, ClusterJob,
    ClusterJobSpec, ClusterJobStatus, ClusterPipeline, ClusterPipelineSpec, JobBuildSummary,
    JobInput,
    conditions::{build_conditions, job_conditions},
    names,
};
use airside_model::BuildStatus;
use airside_store::{Build, BuildBrief, JobOverview, Micros, PipelineSummary};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use crate::urls;

/// The object of a pipeline that the server sets.
pub(super) fn pipeline(summary: &PipelineSummary) -> ClusterPipeline {
    let vars = summary.instance_vars.as_map();
    let name = names::pipeline_name(&summary.name, vars);
    let mut object = ClusterPipeline::new(
        &name,
        ClusterPipelineSpec {
            pipeline: Some(summary.name.clone()),
            instance_vars: vars.clone(),
            ..ClusterPipelineSpec::default()
        },
    );
    object.metadata.labels = Some(names::labels(&summary.name, None, None));
    object
}

/// The object of a job, without its status.
pub(super) fn job(summary: &PipelineSummary, job: &str) -> ClusterJob {
    let vars = summary.instance_vars.as_map();
    let name = names::job_name(&summary.name, vars, job);
    let mut object = ClusterJob::new(
        &name,
        ClusterJobSpec {
            pipeline: summary.name.clone(),
            instance_vars: vars.clone(),
            job: job.to_owned(),
            paused: None,
        },
    );
    object.metadata.labels = Some(names::labels(&summary.name, Some(job), None));
    object
}

pub(super) fn job_status(
    overview: &JobOverview,
    applied_paused: Option<bool>,
    before: &[Condition],
    generation: Option<i64>,
    now: Timestamp,
) -> ClusterJobStatus {
    // A row that cannot be read shows no inputs; the rest is still true.
    let outline: JobOutline = serde_json::from_str(&overview.job.outline).unwrap_or_default();
    let input = |input: airside_config::InputOutline| JobInput {
        resource: input.resource,
        trigger: input.trigger,
        passed: input.passed,
    };
    let last = overview.finished.as_ref().map(brief);
    let phase = last.as_ref().map(|last| last.phase);
    ClusterJobStatus {
        paused: overview.job.paused,
        applied_paused,
        running: overview.next.as_ref().map(brief),
        inputs: outline.inputs.into_iter().map(input).collect(),
        conditions: job_conditions(phase, before, generation, now),
        last,
    }
}

fn brief(build: &BuildBrief) -> JobBuildSummary {
    JobBuildSummary {
        name: build.name.clone(),
        phase: phase(build.status),
        start_time: build.started_at.and_then(time),
        completion_time: build.ended_at.and_then(time),
    }
}

/// The object that shows a build for which no object asked, without its status.
pub(super) fn build(summary: &PipelineSummary, job: &str, build: &Build) -> ClusterBuild {
    let vars = summary.instance_vars.as_map();
    let name = names::build_name(&summary.name, vars, job, &build.name);
    let mut object = ClusterBuild::new(
        &name,
        ClusterBuildSpec {
            pipeline: summary.name.clone(),
            instance_vars: vars.clone(),
            job: job.to_owned(),
            build: Some(build.name.clone()),
            rerun_of: None,
            abort: false,
        },
    );
    let labels = names::labels(&summary.name, Some(job), Some(build.id.0));
    object.metadata.labels = Some(labels);
    object
}

pub(super) fn build_status(
    external_url: &str,
    summary: &PipelineSummary,
    job: &str,
    build: &Build,
    before: &[Condition],
    generation: Option<i64>,
    now: Timestamp,
) -> ClusterBuildStatus {
    let phase = phase(build.status);
    ClusterBuildStatus {
        id: Some(build.id.0),
        name: Some(build.name.clone()),
        phase: Some(phase),
        created_by: build.created_by.clone(),
        start_time: build.started_at.and_then(time),
        completion_time: build.ended_at.and_then(time),
        url: Some(urls::build(external_url, summary, job, &build.name)),
        conditions: build_conditions(phase, before, generation, now),
    }
}

fn phase(status: BuildStatus) -> ClusterBuildPhase {
    match status {
        BuildStatus::Pending => ClusterBuildPhase::Pending,
        BuildStatus::Started => ClusterBuildPhase::Started,
        BuildStatus::Succeeded => ClusterBuildPhase::Succeeded,
        BuildStatus::Failed => ClusterBuildPhase::Failed,
        BuildStatus::Errored => ClusterBuildPhase::Errored,
        BuildStatus::Aborted => ClusterBuildPhase::Aborted,
    }
}

/// Times of objects are whole seconds, as Kubernetes has them.
fn time(at: Micros) -> Option<Time> {
    Timestamp::from_second(at.0.div_euclid(1_000_000))
        .ok()
        .map(Time)
}

#[cfg(test)]
mod tests {
    use airside_model::{BuildId, JobId, PipelineId, TeamId};
    use airside_store::{InstanceVars, Job};
    use kube::ResourceExt as _;
    use serde_json::json;

    use super::*;

    fn summary(vars: serde_json::Value) -> PipelineSummary {
        PipelineSummary {
            id: PipelineId(1),
            team: TeamId(1),
            team_name: "main".to_owned(),
            name: "app".to_owned(),
            instance_vars: InstanceVars::new(vars.as_object().cloned().unwrap_or_default()),
            paused: false,
            paused_by: None,
            paused_at: None,
            public: false,
            archived: false,
            outline: String::new(),
            updated_at: Micros(0),
        }
    }

    fn brief(status: BuildStatus) -> BuildBrief {
        BuildBrief {
            id: BuildId(7),
            name: "3".to_owned(),
            status,
            started_at: Some(Micros(1_500_000)),
            ended_at: status.is_finished().then_some(Micros(9_999_999)),
        }
    }

    #[test]
    fn a_job_shows_its_builds_and_inputs() {
        let overview = JobOverview {
            job: Job {
                id: JobId(1),
                pipeline: PipelineId(1),
                name: "unit".to_owned(),
                paused: true,
                paused_by: None,
                paused_at: None,
                active: true,
                outline: json!({"inputs": [{"name": "code", "resource": "code", "trigger": true}]})
                    .to_string(),
                has_new_inputs: false,
            },
            next: Some(brief(BuildStatus::Started)),
            finished: Some(brief(BuildStatus::Failed)),
        };
        let now = Timestamp::UNIX_EPOCH;
        let status = job_status(&overview, Some(true), &[], Some(1), now);
        let shown = serde_json::to_value(status).unwrap();
        assert_eq!(shown["paused"], true);
        assert_eq!(shown["appliedPaused"], true);
        assert_eq!(
            shown["running"],
            json!({"name": "3", "phase": "started", "startTime": "1970-01-01T00:00:01Z"})
        );
        assert_eq!(shown["last"]["completionTime"], "1970-01-01T00:00:09Z");
        assert_eq!(shown["inputs"][0]["resource"], "code");
        assert_eq!(shown["conditions"][0]["type"], "Succeeded");
        assert_eq!(shown["conditions"][0]["status"], "False");
    }

    #[test]
    fn objects_name_their_pipeline_in_full() {
        let vars = json!({"branch": "main"});
        let object = pipeline(&summary(vars.clone()));
        assert!(object.name_any().starts_with("app-"));
        assert_eq!(object.pipeline_name(), "app");
        assert_eq!(json!(object.spec.instance_vars), vars);
        assert!(!object.sets_pipeline());
        let object = job(&summary(json!({})), "unit");
        assert_eq!(object.name_any(), "app-unit");
        assert_eq!(object.labels()["ci.airside.dev/job"], "unit");
    }
}
