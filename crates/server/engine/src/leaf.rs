//! One step about to run: what the implementations in `steps` work with.

use std::{sync::Arc, time::Duration};

use airside_model::{
    Plan, PlanId, StepKind, StepLabels, VolumeId, WorkerName,
    event::{Event, Origin, Source},
};
use airside_orchestrator::{ContainerHold, Host, HostTicket, ImageGet, StepEnd, StepRequest};
use airside_store::{Micros, now};
use parking_lot::Mutex;
use serde_json::Value;

use crate::{
    Result, StepError,
    interpret::Interpreter,
    outcome::Outcome,
    scope::{BuildScope, Context},
    status::{Status, StopCause},
};

#[derive(Clone, Copy)]
pub(crate) struct Leaf<'a> {
    pub(crate) interpreter: &'a Interpreter<'a>,
    pub(crate) plan: &'a PlanId,
    pub(crate) context: &'a Context,
    started_at: Micros,
    /// Secrets that were looked up for it.
    found: &'a Mutex<Vec<Value>>,
}

/// The end of a step's process, and its container.
pub(crate) struct Ran {
    pub(crate) end: StepEnd<StopCause>,
    pub(crate) answer: Vec<u8>,
    pub(crate) outputs: Vec<(String, VolumeId)>,
    held: ContainerHold,
}

impl Ran {
    /// The worker that has its container.
    pub(crate) fn worker(&self) -> Option<&WorkerName> {
        self.held.worker()
    }
}

impl<'a> Leaf<'a> {
    pub(crate) fn new(
        interpreter: &'a Interpreter<'a>,
        plan: &'a Plan,
        context: &'a Context,
        found: &'a Mutex<Vec<Value>>,
    ) -> Self {
        Self {
            interpreter,
            plan: &plan.id,
            context,
            started_at: now(),
            found,
        }
    }

    pub(crate) fn origin(&self) -> Origin {
        Origin::step(self.plan)
    }

    pub(crate) fn scope(&self) -> &'a BuildScope {
        &self.context.scope
    }

    /// Returns the labels that show people where the step belongs.
    pub(crate) fn labels(&self, step: &str, kind: StepKind) -> StepLabels {
        let build = self.interpreter.build;
        StepLabels {
            team: build.team_name.clone(),
            team_id: build.team,
            pipeline: build.pipeline_name.clone(),
            job: build.job_name.clone(),
            build: build.id,
            build_name: build.name.clone(),
            step: step.to_owned(),
            kind,
            attempt: self.context.attempts.last().copied().unwrap_or(1),
            attempts: self.context.attempts.clone(),
        }
    }

    /// Puts the values of variables in, or says which have none. From now on the build's output
    /// does not show those that are secrets.
    pub(crate) async fn fill(&self, value: Value) -> Result<Value, String> {
        let local = Some(self.scope().vars());
        let filled = self.interpreter.variables.fill(value, local).await;
        let (value, secrets) = filled.map_err(|error| airside_model::chain(&error))?;
        self.hide(&secrets).await?;
        self.found.lock().extend(secrets);
        Ok(value)
    }

    /// Keeps the values out of the build's output from now on, or says why that cannot be.
    pub(crate) async fn hide(&self, values: &[Value]) -> Result<(), String> {
        let hidden = self.interpreter.hide(values).await;
        hidden.map_err(|too_much| too_much.to_string())
    }

    /// Appends an event that this step emits once, however often the build resumes.
    pub(crate) async fn say(&self, what: &str, event: Event) -> Result<()> {
        self.interpreter.say(self.plan, what, event).await
    }

    /// See [`crate::interpret::Interpreter::has_said`].
    pub(crate) fn has_said(&self, what: &str) -> bool {
        self.interpreter.has_said(self.plan, what)
    }

    /// Prints something of our own into the step's output, once.
    pub(crate) async fn print(&self, what: &str, source: Source, text: &str) -> Result<()> {
        self.interpreter.print(self.plan, what, source, text).await
    }

    /// Ends the get of an image for which nothing is placed.
    pub(crate) async fn end_image_get(&self, get: Option<ImageGet>) -> Result<()> {
        let Some(get) = get else { return Ok(()) };
        let (key, event) = (get.finish_key(), get.finish(true));
        Ok(self.interpreter.log.append(&key, 1, event).await?)
    }

    pub(crate) async fn initialize(&self) -> Result<()> {
        let (origin, time) = (self.origin(), now().seconds());
        self.say("initialize", Event::Initialize { origin, time })
            .await
    }

    pub(crate) async fn start(&self) -> Result<()> {
        let (origin, time) = (self.origin(), now().seconds());
        self.say("start", Event::Start { origin, time }).await
    }

    /// Says how it went, and commits that.
    pub(crate) async fn finish(&self, outcome: Outcome) -> Result<Status> {
        let event = Event::Finish {
            origin: self.origin(),
            time: now().seconds(),
            succeeded: outcome.status == Status::Succeeded,
        };
        self.say("finish", event).await?;
        self.commit(outcome).await
    }

    /// Says what went wrong, and ends as errored.
    pub(crate) async fn error(&self, message: impl Into<String>) -> Result<Status> {
        let words = self.interpreter.secrets.redact(&message.into());
        self.interpreter.complain(self.plan, &words).await?;
        let outcome = Outcome {
            error: Some(words),
            ..Outcome::of(Status::Errored)
        };
        self.commit(outcome).await
    }

    /// Returns the error of a step that is to stop.
    pub(crate) fn stopped_error(&self) -> StepError {
        let cause = self.context.stop.cause();
        StepError::Stopped(cause.unwrap_or(StopCause::Aborted))
    }

    /// The step's process was stopped: one that had its time has failed. What it left counts.
    pub(crate) async fn stopped(&self, cause: StopCause, left: Outcome) -> Result<Status> {
        self.interpreter.complain(self.plan, cause.words()).await?;
        let status = match cause {
            StopCause::TimedOut => Status::Failed,
            StopCause::Aborted => Status::Aborted,
        };
        self.commit(Outcome { status, ..left }).await
    }

    /// Commits the end of a step that did not go on; a failure of the server is passed on.
    pub(crate) async fn conclude(&self, ended: Result<Status, StepError>) -> Result<Status> {
        match ended {
            Ok(status) => Ok(status),
            Err(StepError::Ours(error)) => Err(error),
            Err(StepError::Users(words)) => self.error(words).await,
            Err(StepError::Stopped(cause)) => {
                self.stopped(cause, Outcome::of(Status::Aborted)).await
            }
        }
    }

    /// Commits the outcome; from here on the step is never run again.
    pub(crate) async fn commit(&self, mut outcome: Outcome) -> Result<Status> {
        let interpreter = self.interpreter;
        outcome.hidden.secrets = std::mem::take(&mut self.found.lock());
        let hidden = (!outcome.hidden.is_empty()).then_some(&outcome.hidden);
        let store = &interpreter.engine.parts.store;
        store
            .save_outcome(
                interpreter.lease,
                self.plan,
                &outcome,
                hidden,
                self.started_at,
            )
            .await?;
        interpreter.take_in(self.plan, &outcome, self.context).await
    }

    /// Runs the step's process, or follows the one that an earlier server placed. The caller
    /// commits the outcome and then lets the container go. A timeout counts from the first start,
    /// whatever happened to the server since.
    pub(crate) async fn run_process(
        &self,
        request: &StepRequest,
        timeout: Option<Duration>,
    ) -> Result<Ran> {
        let Interpreter {
            engine,
            lease,
            log,
            secrets,
            ..
        } = self.interpreter;
        let stop = self.context.stop.part();
        let run = engine
            .parts
            .orchestrator
            .run(lease, log, request, stop.token(), secrets);
        let (result, held) = match timeout {
            None => run.await?,
            Some(timeout) => {
                let time_is_up = self.interpreter.time_is_up(self.plan, timeout).await?;
                tokio::pin!(run);
                tokio::select! {
                    biased;
                    ended = &mut run => ended?,
                    () = time_is_up => {
                        stop.stop(StopCause::TimedOut);
                        run.await?
                    }
                }
            }
        };
        let cause = || stop.cause().unwrap_or(StopCause::Aborted);
        Ok(Ran {
            end: result.end.map_stopped(|()| cause()),
            answer: result.answer,
            outputs: result.outputs,
            held,
        })
    }

    /// Gives up a container that is there for guests, to them. None: it was lost.
    pub(crate) async fn offer(
        &self,
        ran: Ran,
        ticket: HostTicket,
        lifetime: Option<Duration>,
    ) -> Option<Arc<Host>> {
        let orchestrator = &self.interpreter.engine.parts.orchestrator;
        orchestrator.offer(ran.held, ticket, lifetime).await
    }

    /// Gives up the container of a process. Only after what it came to is committed.
    pub(crate) async fn let_go(&self, ran: Ran) {
        let orchestrator = &self.interpreter.engine.parts.orchestrator;
        orchestrator.release(ran.held).await;
    }
}
