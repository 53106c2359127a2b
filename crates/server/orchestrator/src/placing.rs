//! Getting a step onto a worker: a stored placement, then the runtime, then again if it is lost.

use std::time::Duration;

use airside_hub::{Hub, Session};
use airside_logs::LogWriter;
use airside_model::{
    ContainerState, Handle, Quota, StepKind, WorkerName,
    event::{Event, Origin, Source},
};
use airside_runtime::{Cause, ClaimEnvironment, PlacementSpec};
use airside_store::{Container, Lease, NewPlacement, now};
use airside_telemetry::span;
use airside_vars::Secrets;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span, warn};

use crate::{
    ContainerHold, Orchestrator, Result, StepEnd, StepRequest, StepResult,
    container_ref::ContainerRef,
    follow::{FollowEnd, StepLoss},
    kept,
    output::LogQuota,
    pulls::PlaceAnswer,
    request::{Afterwards, HeldContainer, PlacementRecord},
    workers::{NoWorker, Wants, WorkerEntry},
};

/// Pause between two tries to reach a runtime that does not answer.
const RETRY: Duration = Duration::from_secs(1);

/// One step that is driven: its request and all that driving it needs.
pub(crate) struct StepContext<'a> {
    pub(crate) lease: &'a Lease,
    pub(crate) log: &'a LogWriter,
    pub(crate) request: &'a StepRequest,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) secrets: &'a Secrets,
    /// The team's quota of logs, if it has one.
    pub(crate) log_quota: Option<LogQuota>,
}

impl StepContext<'_> {
    /// A key under which events of this step are written once, however often the build resumes.
    pub(crate) fn key(&self, what: &str) -> String {
        format!("{}/{what}", self.request.plan)
    }

    pub(crate) fn origin(&self) -> Origin {
        Origin::step(&self.request.plan)
    }

    /// Says in the log where the step is, once for each placement.
    async fn log_worker(&self, worker: &WorkerName, placement: u32) -> Result<()> {
        let event = Event::SelectedWorker {
            time: now().seconds(),
            origin: self.origin(),
            selected_worker: worker.to_string(),
        };
        let position = u64::from(placement);
        Ok(self
            .log
            .append(&self.key("worker"), position, event)
            .await?)
    }

    /// Says once that no worker has the step yet. A step for which one was selected waits there,
    /// and says why.
    async fn log_waiting(&self) -> Result<()> {
        let event = Event::WaitingForWorker {
            time: now().seconds(),
            origin: self.origin(),
        };
        Ok(self.log.append(&self.key("waiting"), 1, event).await?)
    }

    /// Says something in the step's log once, however often the build resumes.
    pub(crate) async fn remark_once(&self, what: &str, line: &str) -> Result<()> {
        let event = self.remark(line);
        Ok(self.log.append(&self.key(what), 1, event).await?)
    }

    fn remark(&self, line: &str) -> Event {
        let mut origin = self.origin();
        origin.source = Some(Source::Stderr);
        let (time, payload) = (now().seconds(), line.to_owned());
        Event::Log {
            time,
            origin,
            payload,
        }
    }
}

/// A placement that exists in the store.
pub(crate) struct StepPlacement {
    pub(crate) worker: WorkerEntry,
    pub(crate) handle: Handle,
    pub(crate) container_ref: ContainerRef,
    pub(crate) record: PlacementRecord,
    /// An earlier server had the runtime's word that it exists.
    created: bool,
}

/// The choice of a placement for a step.
enum PlacementChoice {
    Placement(Box<StepPlacement>),
    /// The step ends here, without a placement.
    Ended(StepResult),
}

impl PlacementChoice {
    fn errored(message: impl Into<String>) -> Self {
        Self::Ended(StepResult::errored(message))
    }
}

/// The outcome of a request to a runtime for a container.
enum PlaceOutcome {
    /// The container may exist: the step is followed.
    MayBeThere,
    Ended(StepResult),
    /// The worker is lost and the placement revoked: no shim has the right to the step any more.
    GivenUp(String),
}

impl StepPlacement {
    /// Returns a span that lasts from the runtime's first report of the placement until the step is
    /// lost or done.
    fn span(&self, lease: &Lease, request: &StepRequest) -> Span {
        let (worker, handle) = (self.worker.runtime.worker(), &self.handle);
        span!("placement", build = %lease.build, step = %request.plan, %worker, %handle)
    }

    pub(crate) fn hold(&self, session: Option<Session>) -> ContainerHold {
        ContainerHold(Some(HeldContainer {
            container_ref: self.container_ref.clone(),
            afterwards: match self.record.spec.labels.kind {
                StepKind::Check => Afterwards::Destroyed,
                _ => Afterwards::Kept,
            },
            session,
        }))
    }
}

impl Orchestrator {
    /// Runs the step, or goes on following it if an earlier server placed it. The caller commits
    /// the result and then calls [`Orchestrator::release`]. None of `secrets` shows in the log.
    pub async fn run(
        &self,
        lease: &Lease,
        log: &LogWriter,
        request: &StepRequest,
        cancel: &CancellationToken,
        secrets: &Secrets,
    ) -> Result<(StepResult, ContainerHold)> {
        let mut context = StepContext {
            lease,
            log,
            request,
            cancel,
            secrets,
            log_quota: None,
        };
        context.log_quota = self.log_quota(&context).await?;
        let mut current = self
            .parts
            .store
            .current_placement(lease.build, &request.plan, request.labels.attempt)
            .await?;
        loop {
            let placement = match self.find_placement(&context, current.as_ref()).await? {
                PlacementChoice::Placement(placement) => *placement,
                PlacementChoice::Ended(ended) => {
                    context.log_no_image(&ended).await?;
                    return Ok((ended, ContainerHold::default()));
                }
            };
            let span = placement.span(lease, request);
            if !placement.created {
                let placing = self.place(&context, &placement);
                match placing.instrument(span.clone()).await? {
                    PlaceOutcome::MayBeThere => {}
                    PlaceOutcome::Ended(result) => {
                        context.log_no_image(&result).await?;
                        return Ok((result, placement.hold(None)));
                    }
                    PlaceOutcome::GivenUp(reason) => {
                        let line =
                            format!("the step was not begun and is placed again: {reason}\n");
                        self.remark(&context, &line).await?;
                        current = self.parts.store.container(&placement.handle).await?;
                        continue;
                    }
                }
            }
            context.log_image_got(true).await?;
            let followed = if placement.created && self.vanished(&placement).await {
                FollowEnd::Lost {
                    loss: StepLoss::new(Cause::Removed, "it is no longer there"),
                    held: placement.hold(None),
                }
            } else {
                self.follow(&context, &placement).instrument(span).await?
            };
            match followed {
                FollowEnd::Ended(result, held) => return Ok((result, held)),
                FollowEnd::Lost { mut loss, held } => {
                    let ended = self.why_ended(&placement.handle);
                    let again = self.may_repeat(&context, &placement).await?
                        && loss.cause != Cause::OutOfMemory
                        && ended.is_none();
                    if let Some(reason) = ended {
                        loss = StepLoss::new(Cause::Removed, reason);
                    }
                    let reason = &loss.reason;
                    let (worker, handle) = (placement.worker.runtime.worker(), &placement.handle);
                    warn!(
                        build = %lease.build, step = %request.plan, %worker, %handle, reason, again,
                        "step lost"
                    );
                    let worker = worker.as_str();
                    self.parts.metrics.step_lost(request.labels.kind, worker);
                    if !again {
                        let result = StepResult::errored(lost_message(&placement, &loss));
                        return Ok((result, held.lost()));
                    }
                    self.discard(held).await;
                    let line = format!("the step was lost and is placed again: {reason}\n");
                    self.remark(&context, &line).await?;
                }
            }
            current = self.parts.store.container(&placement.handle).await?;
        }
    }

    /// Says something in the step's log.
    pub(crate) async fn remark(&self, context: &StepContext<'_>, line: &str) -> Result<()> {
        // Each remark is its own: time tells them apart.
        let position = now().0 as u64;
        let (key, event) = (context.key("remark"), context.remark(line));
        Ok(context.log.append(&key, position, event).await?)
    }

    /// The placement to work with: the stored one if it still has the right to live, or a new one.
    async fn find_placement(
        &self,
        context: &StepContext<'_>,
        current: Option<&Container>,
    ) -> Result<PlacementChoice> {
        let parts = &self.parts;
        if let Some(container) = current
            && let Some(record) = parts
                .store
                .placement_request::<PlacementRecord>(&container.handle)
                .await?
            && let Some(worker) = parts.workers.get(&container.worker)
        {
            let handle = container.handle.clone();
            let created = container.state == ContainerState::Created;
            // An earlier server may have been killed before it wrote so.
            context
                .log_worker(&container.worker, container.placement)
                .await?;
            return Ok(PlacementChoice::Placement(Box::new(StepPlacement {
                worker,
                handle,
                container_ref: ContainerRef::from(container),
                record,
                created,
            })));
        }
        if let Some(container) = current
            && container.claimed_at.is_some()
            && !container.labels.kind.may_repeat()
        {
            return Ok(PlacementChoice::errored(format!(
                "the step was running on worker {}, which is no longer configured",
                container.worker
            )));
        }
        if let Some(words) = self.quota_refusal(context).await? {
            return Ok(PlacementChoice::errored(words));
        }
        let number = current.map_or(1, |container| container.placement + 1);
        self.find_worker(context, number).await
    }

    /// Stores a placement on a worker that takes steps, as soon as there is one.
    async fn find_worker(&self, context: &StepContext<'_>, number: u32) -> Result<PlacementChoice> {
        let (workers, request) = (&self.parts.workers, context.request);
        let mut changes = workers.states().changes();
        let mut said = String::new();
        loop {
            changes.mark_unchanged();
            // A worker that is found running stays so until the placement is stored: an
            // administrator's landing then sees the placement.
            let held = workers.states().hold().await;
            let why = match workers.choose(&Wants::of(request)) {
                Ok(worker) => return self.announce_within_quota(context, worker, number).await,
                Err(NoWorker::Nowhere(words)) => return Ok(PlacementChoice::errored(words)),
                Err(NoWorker::Away(words)) => words,
            };
            drop(held);
            context.log_waiting().await?;
            if why != said {
                self.remark(context, &format!("waiting: {why}\n")).await?;
                said = why;
            }
            tokio::select! {
                _ = changes.changed() => {}
                () = context.cancel.cancelled() => {
                    return Ok(PlacementChoice::Ended(StepResult::ended(StepEnd::Stopped(()))));
                }
            }
        }
    }

    /// Stores a placement unless others of the team were faster, and it may have no more.
    async fn announce_within_quota(
        &self,
        context: &StepContext<'_>,
        worker: WorkerEntry,
        number: u32,
    ) -> Result<PlacementChoice> {
        let limited = self.limited_team(context).await?;
        // Two at once would count the same containers.
        let _turn = match limited {
            Some(_) => Some(self.parts.counting.lock().await),
            None => None,
        };
        if let Some(team) = limited
            && let Some(exceeded) = self
                .parts
                .store
                .over_quota(team, Quota::Containers, 1)
                .await?
        {
            return Ok(PlacementChoice::errored(exceeded.to_string()));
        }
        let announced = self.announce(context, worker, number).await?;
        Ok(PlacementChoice::Placement(Box::new(announced)))
    }

    /// Stores a new placement with all that a resume needs. From here on it may exist.
    async fn announce(
        &self,
        context: &StepContext<'_>,
        worker: WorkerEntry,
        number: u32,
    ) -> Result<StepPlacement> {
        let (parts, request) = (&self.parts, context.request);
        let attempt = request.labels.attempt;
        let handle = Handle::derive(
            &parts.installation,
            context.lease.build,
            &request.plan,
            attempt,
            number,
        );
        let token = hex::encode(rand::random::<[u8; 24]>());
        let outputs = request.outputs_of(&handle);
        let can = worker.runtime.capabilities();
        let fence = can.fence_after.unwrap_or(parts.patience.fence_after);
        let order = request.order(&outputs, can.mounts_volumes, fence.as_secs());
        for (_, transfer) in &outputs {
            parts
                .store
                .announce_volume(context.lease, &transfer.volume, &handle, &transfer.path)
                .await?;
        }
        let spec = PlacementSpec {
            handle: handle.clone(),
            installation: parts.installation.clone(),
            labels: request.labels.clone(),
            image: request.image.clone(),
            claim: ClaimEnvironment {
                hub_port: parts.hub.port(),
                hub_pin: parts.hub.pin().to_owned(),
                token: token.clone(),
            },
            mounts: request.mounts(),
            limits: request.limits.clone(),
            privileged: request.privileged,
            hermetic: request.hermetic,
            user: request.user.clone(),
            tags: request.tags.clone(),
            native_type: request.native_type.clone(),
        };
        let record = PlacementRecord {
            spec,
            order,
            outputs,
        };
        let name = &worker.runtime.worker().clone();
        let new = NewPlacement {
            handle: &handle,
            plan: &request.plan,
            attempt,
            placement: number,
            worker: name,
            labels: &request.labels,
            token_hash: &Hub::token_hash(&token),
            dir: kept::folder(request),
            user: request.user.as_deref().unwrap_or_default(),
            request: &record,
        };
        let container_ref = ContainerRef::new(name, &handle, context.lease.build, &request.plan);
        container_ref.log_decision("worker chosen");
        parts.store.create_placement(context.lease, new).await?;
        container_ref.log_state("creating");
        parts
            .metrics
            .step_placed(request.labels.kind, name.as_str());
        context.log_worker(name, number).await?;
        Ok(StepPlacement {
            worker,
            handle,
            container_ref,
            record,
            created: false,
        })
    }

    /// Asks the runtime until it answers, or there is no sense in that any more.
    async fn place(
        &self,
        context: &StepContext<'_>,
        placement: &StepPlacement,
    ) -> Result<PlaceOutcome> {
        let store = &self.parts.store;
        let (mut said, mut away_since) = (String::new(), None);
        let mut number = 0_u64;
        loop {
            number = number.saturating_add(1);
            if context.cancel.is_cancelled() && store.revoke_unclaimed(&placement.handle).await? {
                placement.container_ref.log_state("destroying");
                return Ok(PlaceOutcome::Ended(StepResult::ended(StepEnd::Stopped(()))));
            }
            match self.ask_runtime(context, placement, number).await? {
                PlaceAnswer::Placed { uid } => {
                    store
                        .placement_created(context.lease, &placement.handle, uid.as_deref())
                        .await?;
                    placement.container_ref.log_state("created");
                    return Ok(PlaceOutcome::MayBeThere);
                }
                PlaceAnswer::Refused(error) => {
                    let container_ref = &placement.container_ref;
                    container_ref.log_failure(&error, "container refused by the runtime");
                    // What was claimed did run; following it will tell what became of it.
                    if !store.revoke_unclaimed(&placement.handle).await? {
                        return Ok(PlaceOutcome::MayBeThere);
                    }
                    container_ref.log_state("destroying");
                    return Ok(PlaceOutcome::Ended(StepResult::errored(
                        airside_model::chain(&error),
                    )));
                }
                PlaceAnswer::Postponed { error, cause } => {
                    placement
                        .container_ref
                        .log_failure(&error, "placement postponed");
                    let reason = airside_model::chain(&error);
                    if self.is_lost(placement, &mut away_since)
                        && let Some(placing) =
                            self.give_worker_up(context, placement, &reason).await?
                    {
                        return Ok(placing);
                    }
                    if let Cause::NoRoom { shortage } = &cause {
                        self.make_room(placement, shortage).await?;
                    }
                    if reason != said {
                        self.remark(context, &format!("waiting: {reason}\n"))
                            .await?;
                        said = reason;
                    }
                    tokio::select! {
                        () = tokio::time::sleep(RETRY) => {}
                        () = context.cancel.cancelled() => {}
                    }
                }
            }
        }
    }

    /// Returns true if the worker has been away for longer than it may be.
    fn is_lost(&self, placement: &StepPlacement, away_since: &mut Option<Instant>) -> bool {
        let runtime = &placement.worker.runtime;
        if self
            .parts
            .workers
            .condition(runtime.worker())
            .stalled
            .is_none()
        {
            *away_since = None;
            return false;
        }
        let since = away_since.get_or_insert_with(Instant::now);
        since.elapsed() >= runtime.capabilities().lost_after
    }

    /// Gives up a lost worker: a step that was not claimed goes to another worker, if there is one
    /// for it, and one that was claimed is followed to its end. Returns none if the step waits on.
    async fn give_worker_up(
        &self,
        context: &StepContext<'_>,
        placement: &StepPlacement,
        reason: &str,
    ) -> Result<Option<PlaceOutcome>> {
        let parts = &self.parts;
        let container = parts.store.container(&placement.handle).await?;
        if container.is_some_and(|container| container.claimed_at.is_some()) {
            return Ok(Some(PlaceOutcome::MayBeThere));
        }
        if parts.workers.choose(&Wants::of(context.request)).is_err() {
            return Ok(None);
        }
        if !parts.store.revoke_unclaimed(&placement.handle).await? {
            return Ok(Some(PlaceOutcome::MayBeThere));
        }
        placement.container_ref.log_state("destroying");
        Ok(Some(PlaceOutcome::GivenUp(reason.to_owned())))
    }

    /// Returns true if a placement that was there is not any more. A runtime that does not answer
    /// now will report it later.
    async fn vanished(&self, placement: &StepPlacement) -> bool {
        match placement.worker.runtime.list().await {
            Ok(there) => !there.iter().any(|listed| listed.handle == placement.handle),
            Err(error) => {
                let so = "containers not listed; the watch reports later";
                placement.container_ref.log_failure(&error, so);
                false
            }
        }
    }

    /// Returns true if a lost step may be placed again: it was not claimed, or repeating it does no
    /// harm.
    async fn may_repeat(
        &self,
        context: &StepContext<'_>,
        placement: &StepPlacement,
    ) -> Result<bool> {
        let unclaimed = self.parts.store.revoke_unclaimed(&placement.handle).await?;
        if unclaimed {
            placement.container_ref.log_state("destroying");
        }
        Ok(unclaimed || context.request.labels.kind.may_repeat())
    }
}

/// Returns the message for a step that was lost for good.
fn lost_message(placement: &StepPlacement, loss: &StepLoss) -> String {
    let reason = &loss.reason;
    if loss.cause == Cause::OutOfMemory {
        return format!(
            "{reason} (worker {}). Let it use less memory, or raise its container_limits.memory",
            placement.worker.runtime.worker()
        );
    }
    format!(
        "the step was lost on worker {}: {reason}. It had started, so it is not run again by itself; \
         trigger the job again if that is safe",
        placement.worker.runtime.worker()
    )
}
