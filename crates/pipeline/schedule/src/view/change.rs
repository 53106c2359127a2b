//! Changes since a view was filled.

use airside_model::{JobId, ResourceId, ResourceVersionId};

use super::View;
use super::builds::newest_pipes;
use crate::history::VersionState;
use crate::question::Used;
use crate::{BuildKey, Carried, NameId, Order};

/// A change that is committed. Views are notified in the order of commits. A change that is
/// reported twice does no harm; if one may have been missed, forget what it was about. Pins are not
/// changes: they are part of the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A check or a put found a version that the resource did not have, or one that now stands
    /// elsewhere in the order.
    VersionSaved {
        resource: ResourceId,
        version: ResourceVersionId,
        state: VersionState,
    },
    VersionEnabled {
        resource: ResourceId,
        version: ResourceVersionId,
        enabled: bool,
    },
    /// A version was collected.
    VersionGone {
        resource: ResourceId,
        version: ResourceVersionId,
    },
    /// A build was given its inputs, with the upstream builds they came from.
    InputsUsed {
        job: JobId,
        inputs: Vec<(NameId, Carried, Order)>,
        pipes: Vec<(JobId, BuildKey)>,
    },
    BuildSucceeded {
        job: JobId,
        key: BuildKey,
        carried: Vec<Carried>,
    },
    /// A resource has another history now (its source or type changed), or the change is not known.
    ForgetResource(ResourceId),
    /// Builds of the job were deleted, or the change is not known.
    ForgetJob(JobId),
}

impl View {
    pub fn apply(&mut self, change: Change) {
        self.touched.note(&change);
        match change {
            Change::VersionSaved {
                resource,
                version,
                state,
            } => {
                self.place(resource, version, Some(state));
                self.forget_last_uses(resource);
            }
            Change::VersionEnabled {
                resource,
                version,
                enabled,
            } => {
                if let Some(known) = self.resources.get_mut(&resource) {
                    known.enable(version, enabled);
                }
            }
            Change::VersionGone { resource, version } => {
                self.place(resource, version, None);
                self.forget_last_uses(resource);
            }
            Change::InputsUsed { job, inputs, pipes } => self.use_inputs(job, &inputs, &pipes),
            Change::BuildSucceeded { job, key, carried } => {
                if let Some(known) = self.jobs.get_mut(&job) {
                    known.learn_build(key, carried);
                }
            }
            Change::ForgetResource(resource) => {
                self.resources.remove(&resource);
                self.forget_last_uses(resource);
            }
            Change::ForgetJob(job) => {
                self.jobs.remove(&job);
            }
        }
    }

    fn place(
        &mut self,
        resource: ResourceId,
        version: ResourceVersionId,
        state: Option<VersionState>,
    ) {
        if let Some(known) = self.resources.get_mut(&resource) {
            known.put(version, state);
            known.forget_pins();
        }
    }

    /// The highest version that a job used may be another one now, or stand elsewhere: it may have
    /// been collected and found again since.
    fn forget_last_uses(&mut self, resource: ResourceId) {
        for job in self.jobs.values_mut() {
            job.forget_last_use(resource);
        }
    }

    fn use_inputs(
        &mut self,
        job: JobId,
        inputs: &[(NameId, Carried, Order)],
        pipes: &[(JobId, BuildKey)],
    ) {
        let Some(known) = self.jobs.get_mut(&job) else {
            return;
        };
        for (input, carried, order) in inputs {
            known.learn_used(*input, *carried, true);
            let used = Used {
                order: *order,
                pipes: newest_pipes(pipes),
            };
            known.use_input(carried.resource, &used);
        }
    }
}
