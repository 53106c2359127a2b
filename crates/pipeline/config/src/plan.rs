//! The plan factory: from a job and the versions chosen for it to the tree that a build runs.

mod check;
mod image;

use std::collections::BTreeMap;

pub use check::{CheckOptions, check_plan, prototype_check_plan, resource_type_check_plan};
pub use image::image_plans;

use airside_model::{Plan, PlanId, PlanNode, ResourceType, Version};
use serde_json::{Map, Value};

use crate::base_type::Pulled;
use crate::steps::modifiers::plan_hooks;
use crate::{Config, Job, Resource, Step};

/// The most nodes that one build's plan may have.
pub const MAX_NODES: u64 = 100_000;

/// The most levels of JSON around a plan's leaves. With a leaf's own levels, its image's and those
/// of its values, a plan stays below the 128 at which JSON readers give up.
pub(crate) const MAX_DEPTH: usize = 60;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("step '{step}' uses the resource '{resource}', which the pipeline does not have")]
    UnknownResource { step: String, resource: String },
    #[error("step '{step}' uses the prototype '{prototype}', which the pipeline does not have")]
    UnknownPrototype { step: String, prototype: String },
    #[error("no version was chosen for the get step '{step}'")]
    NoVersion { step: String },
    #[error(
        "the plan would have more than {MAX_NODES} nodes; look for large `attempts` in one another"
    )]
    TooLarge,
}

/// The facts that a plan depends on besides the pipeline.
#[derive(Clone, Debug, Default)]
pub struct PlanOptions {
    /// True if a user triggered the build: images are then checked even if they were checked just
    /// before.
    pub manually_triggered: bool,
    /// The installation's own defaults for the sources of resources, by type.
    pub base_defaults: BTreeMap<String, Map<String, Value>>,
}

/// Plans one build. `versions` has a version for each get step, by the step's name. The job's plan
/// is wrapped in one `do` and that in the job's hooks; ids count up in the order in which nodes
/// come to be, so inner ones first.
pub fn plan(
    job: &Job,
    config: &Config,
    versions: &BTreeMap<String, Version>,
) -> Result<Plan, PlanError> {
    plan_with(job, config, versions, &PlanOptions::default())
}

pub fn plan_with(
    job: &Job,
    config: &Config,
    versions: &BTreeMap<String, Version>,
    options: &PlanOptions,
) -> Result<Plan, PlanError> {
    let mut planner = Planner {
        config,
        options,
        versions,
        last_id: 0,
        nodes: 0,
        tags: &job.tags,
    };
    let steps = planner.steps(&job.plan)?;
    let plan = planner.node(PlanNode::Do(steps))?;
    plan_hooks(plan, job.hooks(), &mut planner)
}

pub(crate) struct Planner<'a> {
    pub(crate) config: &'a Config,
    pub(crate) options: &'a PlanOptions,
    versions: &'a BTreeMap<String, Version>,
    last_id: u64,
    nodes: u64,
    /// Tags of leaf steps without tags of their own.
    tags: &'a [String],
}

impl<'a> Planner<'a> {
    pub(crate) fn node(&mut self, node: PlanNode) -> Result<Plan, PlanError> {
        Ok(Plan::new(self.next_id()?, node))
    }

    pub(crate) fn next_id(&mut self) -> Result<PlanId, PlanError> {
        self.count()?;
        self.last_id += 1;
        Ok(PlanId::new(format!("{:x}", self.last_id)))
    }

    fn count(&mut self) -> Result<(), PlanError> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(PlanError::TooLarge);
        }
        Ok(())
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

    pub(crate) fn prototype(&self, step: &str, name: &str) -> Result<&'a ResourceType, PlanError> {
        self.config
            .prototype(name)
            .ok_or_else(|| PlanError::UnknownPrototype {
                step: step.to_owned(),
                prototype: name.to_owned(),
            })
    }

    /// A resource's source over the defaults of its type.
    pub(crate) fn source(&self, resource: &Resource) -> Map<String, Value> {
        let defaults = match self.config.resource_type(&resource.type_) {
            Some(type_) => Some(&type_.defaults),
            None => self.options.base_defaults.get(&resource.type_),
        };
        let mut source = defaults.cloned().unwrap_or_default();
        source.extend(resource.source.clone().unwrap_or_default());
        source
    }

    /// Returns the type and source that checks and gets of a resource use.
    pub(crate) fn pulled(&self, resource: &Resource) -> Pulled {
        let source = self.source(resource);
        let types: Vec<&ResourceType> = self.config.resource_types.iter().collect();
        image::pulled(&resource.type_, Some(&source), &types)
    }

    pub(crate) fn version(&self, step: &str) -> Result<Version, PlanError> {
        let version = self.versions.get(step).cloned();
        version.ok_or_else(|| PlanError::NoVersion {
            step: step.to_owned(),
        })
    }
}
