//! The plan factory: from a job and the versions chosen for it to the tree that a build runs.

use std::collections::BTreeMap;

use airside_model::{Plan, PlanId, PlanNode, Version};

use crate::{Config, Job, Resource, Step};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("step '{step}' uses the resource '{resource}', which the pipeline does not have")]
    UnknownResource { step: String, resource: String },
    #[error("no version was chosen for the get step '{step}'")]
    NoVersion { step: String },
    #[error("task '{step}' has no config")]
    NoConfig { step: String },
}

/// Plans one build. `versions` has a version for each get step, by the step's name. The job's plan is
/// wrapped in one `do`, and ids count up in the order in which nodes come to be, so inner ones first.
pub fn plan(
    job: &Job,
    config: &Config,
    versions: &BTreeMap<String, Version>,
) -> Result<Plan, PlanError> {
    let mut planner = Planner {
        config,
        versions,
        last_id: 0,
        tags: &job.tags,
    };
    let steps = planner.steps(&job.plan)?;
    Ok(planner.node(PlanNode::Do(steps)))
}

pub(crate) struct Planner<'a> {
    config: &'a Config,
    versions: &'a BTreeMap<String, Version>,
    last_id: u64,
    /// For leaf steps that have none of their own.
    tags: &'a [String],
}

impl<'a> Planner<'a> {
    pub(crate) fn node(&mut self, node: PlanNode) -> Plan {
        self.last_id += 1;
        Plan {
            id: PlanId::new(format!("{:x}", self.last_id)),
            node,
        }
    }

    pub(crate) fn steps(&mut self, steps: &'a [Step]) -> Result<Vec<Plan>, PlanError> {
        steps.iter().map(|step| step.plan(self)).collect()
    }

    /// Plans with other tags for leaf steps, if there are any.
    pub(crate) fn with_tags<T>(
        &mut self,
        tags: &'a [String],
        plan: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let outer = self.tags;
        if !tags.is_empty() {
            self.tags = tags;
        }
        let planned = plan(self);
        self.tags = outer;
        planned
    }

    pub(crate) fn tags(&self, own: &[String]) -> Vec<String> {
        if own.is_empty() {
            self.tags.to_vec()
        } else {
            own.to_vec()
        }
    }

    pub(crate) fn resource(&self, step: &str, name: &str) -> Result<&'a Resource, PlanError> {
        self.config
            .resource(name)
            .ok_or_else(|| PlanError::UnknownResource {
                step: step.to_owned(),
                resource: name.to_owned(),
            })
    }

    pub(crate) fn version(&self, step: &str) -> Result<Version, PlanError> {
        let version = self.versions.get(step).cloned();
        version.ok_or_else(|| PlanError::NoVersion {
            step: step.to_owned(),
        })
    }
}
