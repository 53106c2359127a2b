//! Walks a plan. Inner nodes combine what their children came to; leaves are in `steps`.

use std::{
    collections::{BTreeMap, HashMap},
    pin::Pin,
};

use airside_logs::LogWriter;
use airside_model::{
    MetadataField, Plan, PlanId, PlanNode, Version, VolumeId,
    event::{Event, Origin},
    plan::InParallelPlan,
};
use airside_orchestrator::{StepRequest, StepResult};
use airside_store::{Build, Lease, Micros, now};
use futures::{StreamExt, stream};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::{Engine, Result, steps, unsupported};

/// What a node came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    Succeeded,
    Failed,
    Errored,
    /// Told to stop.
    Aborted,
}

/// A leaf's outcome, as it is stored and answered again after a crash.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<Version>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) metadata: Vec<MetadataField>,
    /// Artifacts it registered, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) artifacts: BTreeMap<String, VolumeId>,
}

impl Outcome {
    pub(crate) fn of(status: Status) -> Self {
        Self {
            status,
            version: None,
            metadata: Vec::new(),
            artifacts: BTreeMap::new(),
        }
    }
}

/// What later steps see of earlier ones.
#[derive(Default)]
pub(crate) struct State {
    artifacts: Mutex<BTreeMap<String, VolumeId>>,
    versions: Mutex<HashMap<PlanId, Version>>,
}

impl State {
    pub(crate) fn artifact(&self, name: &str) -> Option<VolumeId> {
        self.artifacts.lock().get(name).cloned()
    }

    pub(crate) fn artifacts(&self) -> BTreeMap<String, VolumeId> {
        self.artifacts.lock().clone()
    }

    pub(crate) fn version(&self, plan: &PlanId) -> Option<Version> {
        self.versions.lock().get(plan).cloned()
    }

    fn take_in(&self, plan: &PlanId, outcome: &Outcome) {
        self.artifacts.lock().extend(outcome.artifacts.clone());
        if let Some(version) = &outcome.version {
            self.versions.lock().insert(plan.clone(), version.clone());
        }
    }
}

pub(crate) struct Interpreter<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) build: &'a Build,
    pub(crate) lease: &'a Lease,
    pub(crate) log: &'a LogWriter,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) state: State,
}

type Running<'a> = Pin<Box<dyn Future<Output = Result<Status>> + Send + 'a>>;

impl Interpreter<'_> {
    /// Runs a node until it ends or `cancel` stops it.
    pub(crate) fn run<'a>(&'a self, plan: &'a Plan, cancel: &'a CancellationToken) -> Running<'a> {
        Box::pin(async move {
            match &plan.node {
                PlanNode::Do(steps) => self.run_in_order(steps, cancel).await,
                PlanNode::InParallel(parallel) => self.run_in_parallel(parallel, cancel).await,
                PlanNode::OnSuccess(hook) => match self.run(&hook.step, cancel).await? {
                    Status::Succeeded => self.run(&hook.on_success, cancel).await,
                    other => Ok(other),
                },
                PlanNode::Ensure(hook) => {
                    let status = self.run(&hook.step, cancel).await?;
                    Ok(worse(status, self.run(&hook.ensure, cancel).await?))
                }
                // Leaves, and what cannot be run yet.
                _ => self.leaf(plan, cancel).await,
            }
        })
    }

    async fn run_in_order(&self, steps: &[Plan], cancel: &CancellationToken) -> Result<Status> {
        for step in steps {
            match self.run(step, cancel).await? {
                Status::Succeeded => {}
                other => return Ok(other),
            }
        }
        Ok(Status::Succeeded)
    }

    async fn run_in_parallel(
        &self,
        parallel: &InParallelPlan,
        cancel: &CancellationToken,
    ) -> Result<Status> {
        let limit = match parallel.limit {
            None | Some(0) => parallel.steps.len(),
            Some(limit) => limit as usize,
        };
        // With fail_fast, the first failure stops its siblings and nothing else.
        let siblings = cancel.child_token();
        let runs: Vec<Running<'_>> = parallel
            .steps
            .iter()
            .map(|step| self.run(step, &siblings))
            .collect();
        let mut ended = stream::iter(runs).buffer_unordered(limit.max(1));
        let mut worst = Status::Succeeded;
        while let Some(status) = ended.next().await {
            let status = status?;
            if status == Status::Aborted && !cancel.is_cancelled() {
                continue;
            }
            worst = worse(worst, status);
            if parallel.fail_fast && worst != Status::Succeeded {
                siblings.cancel();
            }
        }
        Ok(worst)
    }

    /// Answers from the store, or runs the step and commits what it came to.
    async fn leaf(&self, plan: &Plan, cancel: &CancellationToken) -> Result<Status> {
        let store = &self.engine.parts.store;
        if let Some(outcome) = store.outcome::<Outcome>(self.build.id, &plan.id).await? {
            self.state.take_in(&plan.id, &outcome);
            return Ok(outcome.status);
        }
        if cancel.is_cancelled() {
            return Ok(Status::Aborted);
        }
        let leaf = Leaf {
            interpreter: self,
            plan: &plan.id,
            cancel,
            started_at: now(),
        };
        if let Some(words) = unsupported::words(&plan.node) {
            return leaf.error(words).await;
        }
        match &plan.node {
            PlanNode::Task(task) => steps::task::run(leaf, task).await,
            PlanNode::Get(get) => steps::get::run(leaf, get).await,
            PlanNode::Put(put) => steps::put::run(leaf, put).await,
            PlanNode::ArtifactInput(input) => steps::artifact_input::run(leaf, input).await,
            PlanNode::ArtifactOutput(output) => steps::artifact_output::run(leaf, output).await,
            other => {
                let words = format!("`{}` {}", other.name(), unsupported::NOT_YET);
                leaf.error(words).await
            }
        }
    }
}

/// One step about to run: what its implementation works with.
#[derive(Clone, Copy)]
pub(crate) struct Leaf<'a> {
    pub(crate) interpreter: &'a Interpreter<'a>,
    pub(crate) plan: &'a PlanId,
    pub(crate) cancel: &'a CancellationToken,
    started_at: Micros,
}

impl Leaf<'_> {
    pub(crate) fn origin(&self) -> Origin {
        Origin::step(self.plan)
    }

    pub(crate) fn state(&self) -> &State {
        &self.interpreter.state
    }

    /// Appends an event that this step emits once, however often the build resumes.
    pub(crate) async fn say(&self, what: &str, event: Event) -> Result<()> {
        Ok(self
            .interpreter
            .log
            .append(&format!("{}/{what}", self.plan), 1, event)
            .await?)
    }

    /// Says what went wrong, and ends as errored.
    pub(crate) async fn error(&self, message: impl Into<String>) -> Result<Status> {
        self.complain(message).await?;
        self.commit(Outcome::of(Status::Errored)).await
    }

    /// The step was told to stop.
    pub(crate) async fn interrupted(&self) -> Result<Status> {
        self.complain("interrupted").await?;
        self.commit(Outcome::of(Status::Aborted)).await
    }

    async fn complain(&self, message: impl Into<String>) -> Result<()> {
        let (origin, time) = (self.origin(), now().seconds());
        self.say(
            "error",
            Event::Error {
                message: message.into(),
                origin,
                time,
            },
        )
        .await
    }

    /// Commits the outcome; from here on the step is never run again.
    pub(crate) async fn commit(&self, outcome: Outcome) -> Result<Status> {
        let interpreter = self.interpreter;
        // An aborted build has no further use for its nodes; a step that only its siblings stopped
        // must stay stopped when the build resumes.
        if outcome.status != Status::Aborted || !interpreter.cancel.is_cancelled() {
            let store = &interpreter.engine.parts.store;
            store
                .save_outcome(interpreter.lease, self.plan, &outcome, self.started_at)
                .await?;
            interpreter.state.take_in(self.plan, &outcome);
        }
        Ok(outcome.status)
    }

    /// Runs the step's process and, once `conclude` has committed what it came to, gives up its
    /// container.
    pub(crate) async fn run<'a, F>(
        &'a self,
        request: &StepRequest,
        conclude: impl FnOnce(StepResult) -> F,
    ) -> Result<Status>
    where
        F: Future<Output = Result<Status>> + 'a,
    {
        let Interpreter {
            engine, lease, log, ..
        } = self.interpreter;
        let orchestrator = &engine.parts.orchestrator;
        let (result, held) = orchestrator.run(lease, log, request, self.cancel).await?;
        let status = conclude(result).await?;
        orchestrator.release(held).await;
        Ok(status)
    }
}

fn worse(a: Status, b: Status) -> Status {
    let rank = |status| match status {
        Status::Succeeded => 0,
        Status::Failed => 1,
        Status::Errored => 2,
        Status::Aborted => 3,
    };
    if rank(b) > rank(a) { b } else { a }
}
