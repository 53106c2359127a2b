//! Walks a plan. Inner nodes combine what their children came to (`status` says how); leaves are in
//! `steps`, and what runs several children at once is in `parallel` and `across`.

use std::{collections::HashMap, pin::Pin, sync::OnceLock, time::Duration};

use airside_logs::LogWriter;
use airside_model::{
    BuildStatus, Plan, PlanId, PlanNode, Version,
    event::{Event, Origin, Source},
    plan::TimeoutPlan,
};
use airside_secrets::PipelineVariables;
use airside_store::{Build, Lease, now};
use airside_telemetry::span;
use airside_vars::{Secrets, TooMuch};
use parking_lot::Mutex;
use serde_json::Value;
use tracing::{Instrument as _, field::Empty};

use crate::{
    Engine, Result, across,
    leaf::Leaf,
    outcome::{Hidden, Outcome},
    parallel,
    reference::Uses,
    scope::Context,
    status::{self, Hook, Status, StopCause, Surroundings},
    steps,
    stop::Stop,
};

pub(crate) struct Interpreter<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) build: &'a Build,
    pub(crate) lease: &'a Lease,
    pub(crate) log: &'a LogWriter,
    pub(crate) variables: PipelineVariables,
    /// Secrets that the build's output must not show.
    pub(crate) secrets: Secrets,
    pub(crate) ended: Mutex<HashMap<PlanId, LeafEnd>>,
    /// Images that the build's tasks run in, once it has a plan.
    pub(crate) uses: OnceLock<Uses>,
}

/// Result of a leaf that has ended, as other nodes use it.
#[derive(Clone, Default)]
pub(crate) struct LeafEnd {
    pub(crate) version: Option<Version>,
    pub(crate) error: Option<String>,
}

pub(crate) type Running<'a> = Pin<Box<dyn Future<Output = Result<Status>> + Send + 'a>>;

impl Interpreter<'_> {
    /// Runs a node until it ends or is stopped.
    pub(crate) fn run_node<'a>(&'a self, plan: &'a Plan, context: Context) -> Running<'a> {
        Box::pin(async move {
            match &plan.node {
                PlanNode::Do(steps) => self.in_order(steps, &context).await,
                PlanNode::InParallel(steps) => parallel::run(self, steps, &context).await,
                PlanNode::Across(node) => across::run(self, &plan.id, node, &context).await,
                PlanNode::Try(node) => Ok(status::tried(self.run_node(&node.step, context).await?)),
                PlanNode::Timeout(node) => self.timed(&plan.id, node, &context).await,
                PlanNode::Retry(attempts) => self.attempts(attempts, &context).await,
                PlanNode::OnSuccess(node) => {
                    let hook = (Hook::OnSuccess, &*node.on_success);
                    self.hooked(&node.step, hook, context).await
                }
                PlanNode::OnFailure(node) => {
                    let hook = (Hook::OnFailure, &*node.on_failure);
                    self.hooked(&node.step, hook, context).await
                }
                PlanNode::OnError(node) => {
                    let hook = (Hook::OnError, &*node.on_error);
                    self.hooked(&node.step, hook, context).await
                }
                PlanNode::OnAbort(node) => {
                    let hook = (Hook::OnAbort, &*node.on_abort);
                    self.hooked(&node.step, hook, context).await
                }
                PlanNode::Ensure(node) => {
                    let hook = (Hook::Ensure, &*node.ensure);
                    self.hooked(&node.step, hook, context).await
                }
                _ => self.run_leaf(plan, &context).await,
            }
        })
    }

    async fn in_order(&self, steps: &[Plan], context: &Context) -> Result<Status> {
        for step in steps {
            match self.run_node(step, context.clone()).await? {
                Status::Succeeded => {}
                other => return Ok(other),
            }
        }
        Ok(Status::Succeeded)
    }

    async fn hooked(
        &self,
        step: &Plan,
        (kind, hook): (Hook, &Plan),
        context: Context,
    ) -> Result<Status> {
        let step = self.run_node(step, context.clone()).await?;
        let surroundings = match kind.runs(step, context.stop.cause()) {
            None => return Ok(step),
            Some(Surroundings::Same) => context.clone(),
            Some(Surroundings::Fresh) => context.with_stop(Stop::never()),
        };
        let surroundings = surroundings.with_status(told(kind));
        let hook = self.run_node(hook, surroundings).await?;
        Ok(kind.join(step, Some(hook), context.stop.cause()))
    }

    async fn attempts(&self, attempts: &[Plan], context: &Context) -> Result<Status> {
        let mut last = Status::Succeeded;
        for (number, attempt) in (1..).zip(attempts) {
            last = self.run_node(attempt, context.with_attempt(number)).await?;
            if let Some(end) = status::attempted(last, context.stop.cause()) {
                return Ok(end);
            }
        }
        Ok(last)
    }

    async fn timed(&self, id: &PlanId, node: &TimeoutPlan, context: &Context) -> Result<Status> {
        let timeout = match airside_model::read_duration(&node.duration) {
            Ok(timeout) => timeout,
            Err(why) => {
                let words = format!("the timeout `{}` {why}", node.duration);
                self.complain(id, &words).await?;
                return Ok(Status::Errored);
            }
        };
        let time_is_up = self.time_is_up(id, timeout).await?;
        let stop = context.stop.part();
        let run = self.run_node(&node.step, context.with_stop(stop.clone()));
        tokio::pin!(run);
        let step = tokio::select! {
            biased;
            ended = &mut run => ended?,
            () = time_is_up => {
                stop.stop(StopCause::TimedOut);
                run.await?
            }
        };
        Ok(status::timed(step))
    }

    /// Resolves once a node has had its time, counted from when it first began.
    pub(crate) async fn time_is_up(
        &self,
        id: &PlanId,
        timeout: Duration,
    ) -> Result<impl Future<Output = ()> + Send + use<>> {
        let store = &self.engine.parts.store;
        let (began, _) = store.begin_node::<()>(self.lease, id, None).await?;
        let left = timeout.saturating_sub(now().since(began));
        Ok(tokio::time::sleep(left))
    }

    /// Answers from the store, or runs the step and commits what it came to.
    async fn run_leaf(&self, plan: &Plan, context: &Context) -> Result<Status> {
        let store = &self.engine.parts.store;
        let stored = store.outcome::<Outcome, Hidden>(self.build.id, &plan.id);
        if let Some((mut outcome, hidden)) = stored.await? {
            outcome.hidden = hidden.unwrap_or_default();
            return self.take_in(&plan.id, &outcome, context).await;
        }
        let found = Mutex::default();
        let leaf = Leaf::new(self, plan, context, &found);
        if let Some(cause) = context.stop.cause()
            && !self.has_begun(&plan.id, context).await?
        {
            self.complain(&plan.id, cause.words()).await?;
            return Ok(cause.status());
        }
        let span = span!(
            "step", build = %self.build.id, step = %plan.id, kind = plan.node.name(), status = Empty
        );
        // In a box: a step that fetches its image runs steps within steps.
        let running = Box::pin(steps::run_step(leaf, &plan.node));
        let status = running.instrument(span.clone()).await;
        if let Ok(status) = &status {
            span.record("status", status.name());
        }
        status
    }

    /// Returns true if an earlier server placed this step. Such a step is followed, and stopped
    /// properly, even if its result is wanted no more.
    pub(crate) async fn has_begun(&self, plan: &PlanId, context: &Context) -> Result<bool> {
        let attempt = context.attempts.last().copied().unwrap_or(1);
        let store = &self.engine.parts.store;
        let placement = store.current_placement(self.build.id, plan, attempt);
        Ok(placement.await?.is_some())
    }

    /// Keeps the values out of the build's output from now on. A value that is refused must not be
    /// used.
    pub(crate) async fn hide(&self, values: &[Value]) -> Result<(), TooMuch> {
        for value in values {
            if self.secrets.is_quick_to_add(value) {
                self.secrets.add(value)?;
                continue;
            }
            let (secrets, value) = (self.secrets.clone(), value.clone());
            let added = airside_tasks::blocking("adding a secret", move || secrets.add(&value));
            added.await.expect("adding a secret does not panic")?;
        }
        Ok(())
    }

    /// Makes known to later steps what a step came to. The step has erred if its secrets cannot be
    /// kept out of the build's output, which only an outcome of an older version can bring about.
    pub(crate) async fn take_in(
        &self,
        id: &PlanId,
        outcome: &Outcome,
        context: &Context,
    ) -> Result<Status> {
        let hidden = &outcome.hidden;
        let vars = hidden.vars.values().filter(|var| var.secret);
        let vars: Vec<Value> = vars.map(|var| var.value.clone()).collect();
        let hid = match self.hide(&hidden.secrets).await {
            Ok(()) => self.hide(&vars).await,
            refused => refused,
        };
        if let Err(too_much) = hid {
            self.complain(id, &too_much.to_string()).await?;
            return Ok(Status::Errored);
        }
        context.scope.take_in(outcome);
        let ended = LeafEnd {
            version: outcome.version.clone(),
            error: outcome.error.clone(),
        };
        self.ended.lock().insert(id.clone(), ended);
        Ok(outcome.status)
    }

    /// The version that a put or check came to.
    pub(crate) fn version(&self, id: &PlanId) -> Option<Version> {
        self.ended.lock().get(id)?.version.clone()
    }

    /// Returns the errors of this plan's leaves.
    pub(crate) fn errors(&self, plan: &Plan) -> Vec<String> {
        let (ended, mut errors) = (self.ended.lock(), Vec::new());
        plan.visit(&mut |node| {
            errors.extend(ended.get(&node.id).and_then(|leaf| leaf.error.clone()));
        });
        errors
    }

    /// Appends an event that a node emits once, however often the build resumes.
    pub(crate) async fn say(&self, id: &PlanId, what: &str, event: Event) -> Result<()> {
        self.log.append(&format!("{id}/{what}"), 1, event).await?;
        self.engine.parts.store.step_changed(self.build.id);
        Ok(())
    }

    /// Returns true if the event is in the log already, perhaps from an earlier server.
    pub(crate) fn has_said(&self, id: &PlanId, what: &str) -> bool {
        self.log.position(&format!("{id}/{what}")) > 0
    }

    /// Prints something of our own into a node's output, once.
    pub(crate) async fn print(
        &self,
        id: &PlanId,
        what: &str,
        source: Source,
        text: &str,
    ) -> Result<()> {
        let event = Event::Log {
            time: now().seconds(),
            origin: Origin {
                id: id.clone(),
                source: Some(source),
            },
            payload: self.secrets.redact(text),
        };
        self.say(id, what, event).await
    }

    pub(crate) async fn complain(&self, id: &PlanId, words: &str) -> Result<()> {
        let event = Event::Error {
            message: self.secrets.redact(words),
            origin: Origin::step(id),
            time: now().seconds(),
        };
        self.say(id, "error", event).await
    }
}

/// Returns the build status that the steps of a hook are given.
fn told(hook: Hook) -> Option<BuildStatus> {
    match hook {
        Hook::OnSuccess => Some(BuildStatus::Succeeded),
        Hook::OnFailure => Some(BuildStatus::Failed),
        Hook::OnError => Some(BuildStatus::Errored),
        Hook::OnAbort => Some(BuildStatus::Aborted),
        Hook::Ensure => None,
    }
}
