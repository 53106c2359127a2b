//! Containers, with the build they belong to.

use airside_store::{Build, Container};
use serde_json::Value;

use super::Fields;

pub(crate) fn container(container: &Container, build: &Build) -> Value {
    let labels = &container.labels;
    let attempts: Vec<String> = labels.attempts.iter().map(u32::to_string).collect();
    Fields::default()
        .with("id", container.handle.as_str())
        .with("worker_name", container.worker.as_str())
        .with("state", container.state.as_str())
        .with("type", labels.kind.as_str())
        .maybe("step_name", labels.step.as_str())
        .maybe("attempt", attempts.join("."))
        .maybe("pipeline_id", build.pipeline.map(|id| id.0))
        .maybe("job_id", build.job.map(|id| id.0))
        .with("build_id", build.id.0)
        .maybe("pipeline_name", build.pipeline_name.as_deref())
        .maybe("pipeline_instance_vars", build.instance_vars.to_value())
        .maybe("job_name", build.job_name.as_deref())
        .maybe("build_name", build.name.as_str())
        .maybe("user", container.user.as_str())
        .maybe("working_directory", container.dir.as_str())
        .done()
}
