//! A container as the log names it: every line about one says whose it is and where.

use airside_model::{BuildId, Handle, PlanId, WorkerName, chain};
use airside_store::Container;
use tracing::{field::display, info, warn};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContainerRef {
    pub(crate) worker: WorkerName,
    pub(crate) handle: Handle,
    /// Absent for a container that no row of the store names: a sweep alone comes across one.
    step: Option<(BuildId, PlanId)>,
}

impl ContainerRef {
    pub(crate) fn new(worker: &WorkerName, handle: &Handle, build: BuildId, step: &PlanId) -> Self {
        Self {
            worker: worker.clone(),
            handle: handle.clone(),
            step: Some((build, step.clone())),
        }
    }

    pub(crate) fn unknown(worker: &WorkerName, handle: &Handle) -> Self {
        Self {
            worker: worker.clone(),
            handle: handle.clone(),
            step: None,
        }
    }

    /// One line for each state that a container comes to, once that is committed.
    pub(crate) fn log_state(&self, state: &str) {
        let Self { worker, handle, .. } = self;
        let (build, step) = self.step();
        info!(build, step, %worker, %handle, "container {state}");
    }

    /// One line for each decision about it.
    pub(crate) fn log_decision(&self, decision: &str) {
        let Self { worker, handle, .. } = self;
        let (build, step) = self.step();
        info!(build, step, %worker, %handle, "{decision}");
    }

    /// One line for each call about it that failed, and what follows from that.
    pub(crate) fn log_failure(&self, error: &(dyn std::error::Error + 'static), so: &str) {
        let Self { worker, handle, .. } = self;
        let (build, step) = self.step();
        warn!(build, step, %worker, %handle, error = %chain(error), "{so}");
    }

    fn step(&self) -> (Option<impl tracing::Value>, Option<impl tracing::Value>) {
        let step = self.step.as_ref();
        (
            step.map(|(build, _)| display(build)),
            step.map(|(_, step)| display(step)),
        )
    }
}

impl From<&Container> for ContainerRef {
    fn from(container: &Container) -> Self {
        let Container {
            worker,
            handle,
            build,
            plan,
            ..
        } = container;
        Self::new(worker, handle, *build, plan)
    }
}
