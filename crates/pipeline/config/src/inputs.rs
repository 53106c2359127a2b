//! The inputs and outputs of a job, for the scheduler.

use crate::{Job, Leaf, VersionSpec};

/// A get step, as the scheduler sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobInput {
    /// The step's name; a plan's versions are by this.
    pub name: String,
    pub resource: String,
    /// Names or patterns; [`crate::Config::passed_jobs`] resolves them.
    pub passed: Vec<String>,
    pub trigger: bool,
    pub version: VersionSpec,
}

/// A put step, as the scheduler sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobOutput {
    pub name: String,
    pub resource: String,
}

/// The gets of a job in the order of its plan. The get behind a put is not an input.
pub fn inputs(job: &Job) -> Vec<JobInput> {
    let mut inputs = Vec::new();
    job.visit_leaves(&mut |leaf| {
        if let Leaf::Get(get) = leaf {
            inputs.push(JobInput {
                name: get.name.clone(),
                resource: get.resource().to_owned(),
                passed: get.passed.clone(),
                trigger: get.trigger,
                version: get.version.clone().unwrap_or_default(),
            });
        }
    });
    inputs
}

/// The puts of a job in the order of its plan.
pub fn outputs(job: &Job) -> Vec<JobOutput> {
    let mut outputs = Vec::new();
    job.visit_leaves(&mut |leaf| {
        if let Leaf::Put(put) = leaf {
            outputs.push(JobOutput {
                name: put.name.clone(),
                resource: put.resource().to_owned(),
            });
        }
    });
    outputs
}
