//! Getting a step onto a worker: a stored placement, then the runtime, then again if it is lost.

use std::time::Duration;

use airside_hub::{Hub, Session};
use airside_logs::LogWriter;
use airside_model::{
    ContainerState, Handle, Quota, StepKind, WorkerName,
    event::{Event, Origin, Source},
};
use airside_runtime::{Cause, ClaimEnvironment, Error as RuntimeError, PlacementSpec};
use airside_store::{Container, Lease, NewPlacement, now};
use airside_traces::span;
use airside_vars::Secrets;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span, warn};

use crate::{
    Held, Orchestrator, Result, StepEnd, StepRequest, StepResult,
    follow::{Followed, StepLoss},
    kept,
    output::LogQuota,
    request::{Afterwards, Holding, Placed},
    subject::Subject,
    workers::{NoWorker, Wants, WorkerEntry},
};

/// Between two tries to reach a runtime that does not answer.
const RETRY: Duration = Duration::from_secs(1);

/// What driving a step needs besides the request.
pub(crate) struct Drive<'a> {
    pub(crate) lease: &'a Lease,
    pub(crate) log: &'a LogWriter,
    pub(crate) request: &'a StepRequest,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) secrets: &'a Secrets,
    /// The team's quota of logs, if it has one.
    pub(crate) log_quota: Option<LogQuota>,
}

impl Drive<'_> {
    /// A key under which events of this step are written once, however often the build resumes.
    pub(crate) fn key(&self, what: &str) -> String {
        format!("{}/{what}", self.request.plan)
    }

    pub(crate) fn origin(&self) -> Origin {
        Origin::step(&self.request.plan)
    }

    /// Says in the log where the step is, once for each placement.
    async fn name_worker(&self, worker: &WorkerName, placement: u32) -> Result<()> {
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

    /// Says once that no worker has the step yet. A step for which one was selected waits there, and says why.
    async fn say_waiting(&self) -> Result<()> {
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
pub(crate) struct Standing {
    pub(crate) worker: WorkerEntry,
    pub(crate) handle: Handle,
    pub(crate) subject: Subject,
    pub(crate) placed: Placed,
    /// An earlier server had the runtime's word that it exists.
    created: bool,
}

/// The choice of a placement for a step.
enum Chosen {
    Placement(Box<Standing>),
    /// The step ends here, without a placement.
    Ended(StepResult),
}

impl Chosen {
    fn errored(message: impl Into<String>) -> Self {
        Self::Ended(StepResult::errored(message))
    }
}

/// The outcome of a request to a runtime for a container.
enum Placing {
    /// The container may exist: the step is followed.
    MayBeThere,
    Ended(StepResult),
    /// The worker is lost and the placement revoked: no shim has the right to the step any more.
    GivenUp(String),
}

impl Standing {
    /// From the runtime's first word of it until it is lost or done.
    fn span(&self, lease: &Lease, request: &StepRequest) -> Span {
        let (worker, handle) = (self.worker.runtime.worker(), &self.handle);
        span!("placement", build = %lease.build, step = %request.plan, %worker, %handle)
    }

    pub(crate) fn held(&self, session: Option<Session>) -> Held {
        Held(Some(Holding {
            subject: self.subject.clone(),
            afterwards: match self.placed.spec.labels.kind {
                StepKind::Check => Afterwards::Destroyed,
                _ => Afterwards::Kept,
            },
            session,
        }))
    }
}

impl Orchestrator {
    /// Runs the step, or goes on following it if an earlier server placed it. The caller commits the
    /// result and then calls [`Orchestrator::release`]. None of `secrets` shows in the log.
    pub async fn run(
        &self,
        lease: &Lease,
        log: &LogWriter,
        request: &StepRequest,
        cancel: &CancellationToken,
        secrets: &Secrets,
    ) -> Result<(StepResult, Held)> {
        let mut drive = Drive {
            lease,
            log,
            request,
            cancel,
            secrets,
            log_quota: None,
        };
        drive.log_quota = self.log_quota(&drive).await?;
        let mut current = self
            .parts
            .store
            .current_placement(lease.build, &request.plan, request.labels.attempt)
            .await?;
        loop {
            let standing = match self.standing(&drive, current.as_ref()).await? {
                Chosen::Placement(standing) => *standing,
                Chosen::Ended(ended) => return Ok((ended, Held::default())),
            };
            let span = standing.span(lease, request);
            if !standing.created {
                let placing = self.place(&drive, &standing);
                match placing.instrument(span.clone()).await? {
                    Placing::MayBeThere => {}
                    Placing::Ended(result) => return Ok((result, standing.held(None))),
                    Placing::GivenUp(reason) => {
                        let line =
                            format!("the step was not begun and is placed again: {reason}\n");
                        self.remark(&drive, &line).await?;
                        current = self.parts.store.container(&standing.handle).await?;
                        continue;
                    }
                }
            }
            let followed = if standing.created && self.vanished(&standing).await {
                Followed::Lost {
                    loss: StepLoss::new(Cause::Removed, "it is no longer there"),
                    held: standing.held(None),
                }
            } else {
                self.follow(&drive, &standing).instrument(span).await?
            };
            match followed {
                Followed::Ended(result, held) => return Ok((result, held)),
                Followed::Lost { mut loss, held } => {
                    let ended = self.why_ended(&standing.handle);
                    let again = self.may_repeat(&drive, &standing).await?
                        && loss.cause != Cause::OutOfMemory
                        && ended.is_none();
                    if let Some(reason) = ended {
                        loss = StepLoss::new(Cause::Removed, reason);
                    }
                    let reason = &loss.reason;
                    let (worker, handle) = (standing.worker.runtime.worker(), &standing.handle);
                    warn!(
                        build = %lease.build, step = %request.plan, %worker, %handle, reason, again,
                        "step lost"
                    );
                    let worker = worker.as_str();
                    self.parts.metrics.step_lost(request.labels.kind, worker);
                    if !again {
                        let result = StepResult::errored(lost_message(&standing, &loss));
                        return Ok((result, held.lost()));
                    }
                    self.discard(held).await;
                    let line = format!("the step was lost and is placed again: {reason}\n");
                    self.remark(&drive, &line).await?;
                }
            }
            current = self.parts.store.container(&standing.handle).await?;
        }
    }

    /// Says something in the step's log.
    pub(crate) async fn remark(&self, drive: &Drive<'_>, line: &str) -> Result<()> {
        // Each remark is its own: time tells them apart.
        let position = now().0 as u64;
        let (key, event) = (drive.key("remark"), drive.remark(line));
        Ok(drive.log.append(&key, position, event).await?)
    }

    /// The placement to work with: the stored one if it still has the right to live, or a new one.
    async fn standing(&self, drive: &Drive<'_>, current: Option<&Container>) -> Result<Chosen> {
        let parts = &self.parts;
        if let Some(container) = current
            && let Some(placed) = parts
                .store
                .placement_request::<Placed>(&container.handle)
                .await?
            && let Some(worker) = parts.workers.get(&container.worker)
        {
            let handle = container.handle.clone();
            let created = container.state == ContainerState::Created;
            // An earlier server may have been killed before it said so.
            drive
                .name_worker(&container.worker, container.placement)
                .await?;
            return Ok(Chosen::Placement(Box::new(Standing {
                worker,
                handle,
                subject: Subject::from(container),
                placed,
                created,
            })));
        }
        if let Some(container) = current
            && container.claimed_at.is_some()
            && !container.labels.kind.may_repeat()
        {
            return Ok(Chosen::errored(format!(
                "the step was running on worker {}, which is no longer configured",
                container.worker
            )));
        }
        if let Some(words) = self.quota_refusal(drive).await? {
            return Ok(Chosen::errored(words));
        }
        let number = current.map_or(1, |container| container.placement + 1);
        self.find_worker(drive, number).await
    }

    /// Stores a placement on a worker that takes steps, as soon as there is one.
    async fn find_worker(&self, drive: &Drive<'_>, number: u32) -> Result<Chosen> {
        let (workers, request) = (&self.parts.workers, drive.request);
        let mut changes = workers.states().changes();
        let mut said = String::new();
        loop {
            changes.mark_unchanged();
            // A worker that is found running stays so until the placement is stored: whoever lands it then
            // sees the placement.
            let held = workers.states().hold().await;
            let why = match workers.choose(&Wants::of(request)) {
                Ok(worker) => return self.announce_within_quota(drive, worker, number).await,
                Err(NoWorker::Nowhere(words)) => return Ok(Chosen::errored(words)),
                Err(NoWorker::Away(words)) => words,
            };
            drop(held);
            drive.say_waiting().await?;
            if why != said {
                self.remark(drive, &format!("waiting: {why}\n")).await?;
                said = why;
            }
            tokio::select! {
                _ = changes.changed() => {}
                () = drive.cancel.cancelled() => {
                    return Ok(Chosen::Ended(StepResult::ended(StepEnd::Stopped)));
                }
            }
        }
    }

    /// Stores a placement unless others of the team were faster, and it may have no more.
    async fn announce_within_quota(
        &self,
        drive: &Drive<'_>,
        worker: WorkerEntry,
        number: u32,
    ) -> Result<Chosen> {
        let limited = self.limited_team(drive).await?;
        // Two at once would count the same.
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
            return Ok(Chosen::errored(exceeded.to_string()));
        }
        let announced = self.announce(drive, worker, number).await?;
        Ok(Chosen::Placement(Box::new(announced)))
    }

    /// Stores a new placement with all that a resume needs. From here on it may exist.
    async fn announce(
        &self,
        drive: &Drive<'_>,
        worker: WorkerEntry,
        number: u32,
    ) -> Result<Standing> {
        let (parts, request) = (&self.parts, drive.request);
        let attempt = request.labels.attempt;
        let handle = Handle::derive(
            &parts.installation,
            drive.lease.build,
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
                .announce_volume(drive.lease, &transfer.volume, &handle, &transfer.path)
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
        };
        let placed = Placed {
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
            request: &placed,
        };
        let subject = Subject::new(name, &handle, drive.lease.build, &request.plan);
        subject.decided("worker chosen");
        parts.store.create_placement(drive.lease, new).await?;
        subject.is("creating");
        parts
            .metrics
            .step_placed(request.labels.kind, name.as_str());
        drive.name_worker(name, number).await?;
        Ok(Standing {
            worker,
            handle,
            subject,
            placed,
            created: false,
        })
    }

    /// Asks the runtime until it answers, or there is no sense in that any more.
    async fn place(&self, drive: &Drive<'_>, standing: &Standing) -> Result<Placing> {
        let store = &self.parts.store;
        let (mut said, mut away_since) = (String::new(), None);
        loop {
            if drive.cancel.is_cancelled() && store.revoke_unclaimed(&standing.handle).await? {
                standing.subject.is("destroying");
                return Ok(Placing::Ended(StepResult::ended(StepEnd::Stopped)));
            }
            match standing.worker.runtime.place(&standing.placed.spec).await {
                Ok(uid) => {
                    store
                        .placement_created(drive.lease, &standing.handle, uid.as_deref())
                        .await?;
                    standing.subject.is("created");
                    return Ok(Placing::MayBeThere);
                }
                Err(error @ RuntimeError::Refused { .. }) => {
                    let subject = &standing.subject;
                    subject.failed(&error, "the runtime refuses the container");
                    // What was claimed did run; following it will tell what became of it.
                    if !store.revoke_unclaimed(&standing.handle).await? {
                        return Ok(Placing::MayBeThere);
                    }
                    subject.is("destroying");
                    return Ok(Placing::Ended(StepResult::errored(error.to_string())));
                }
                Err(ref error @ RuntimeError::Unavailable { ref cause, .. }) => {
                    standing.subject.failed(error, "placement must wait");
                    let reason = error.to_string();
                    if self.is_lost(standing, &mut away_since)
                        && let Some(placing) = self.give_worker_up(drive, standing, &reason).await?
                    {
                        return Ok(placing);
                    }
                    if let Cause::NoRoom { shortage } = cause {
                        self.make_room(standing, shortage).await?;
                    }
                    if reason != said {
                        self.remark(drive, &format!("waiting: {reason}\n")).await?;
                        said = reason;
                    }
                    tokio::select! {
                        () = tokio::time::sleep(RETRY) => {}
                        () = drive.cancel.cancelled() => {}
                    }
                }
            }
        }
    }

    /// Whether the worker has been away for longer than it may be.
    fn is_lost(&self, standing: &Standing, away_since: &mut Option<Instant>) -> bool {
        let runtime = &standing.worker.runtime;
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

    /// A step that nobody has claimed goes to another worker, if there is one for it; what was claimed is followed, which
    /// tells what became of it. None: it waits on.
    async fn give_worker_up(
        &self,
        drive: &Drive<'_>,
        standing: &Standing,
        reason: &str,
    ) -> Result<Option<Placing>> {
        let parts = &self.parts;
        let container = parts.store.container(&standing.handle).await?;
        if container.is_some_and(|container| container.claimed_at.is_some()) {
            return Ok(Some(Placing::MayBeThere));
        }
        if parts.workers.choose(&Wants::of(drive.request)).is_err() {
            return Ok(None);
        }
        if !parts.store.revoke_unclaimed(&standing.handle).await? {
            return Ok(Some(Placing::MayBeThere));
        }
        standing.subject.is("destroying");
        Ok(Some(Placing::GivenUp(reason.to_owned())))
    }

    /// Whether a placement that was there is not any more. A runtime that does not answer now will
    /// tell later.
    async fn vanished(&self, standing: &Standing) -> bool {
        match standing.worker.runtime.list().await {
            Ok(there) => !there.iter().any(|listed| listed.handle == standing.handle),
            Err(error) => {
                let so = "whether the container is still there will be seen later";
                standing.subject.failed(&error, so);
                false
            }
        }
    }

    /// Whether a lost step may be placed again: nobody claimed it, or repeating it does no harm.
    async fn may_repeat(&self, drive: &Drive<'_>, standing: &Standing) -> Result<bool> {
        let unclaimed = self.parts.store.revoke_unclaimed(&standing.handle).await?;
        if unclaimed {
            standing.subject.is("destroying");
        }
        Ok(unclaimed || drive.request.labels.kind.may_repeat())
    }
}

/// Returns the message for a step that was lost for good.
fn lost_message(standing: &Standing, loss: &StepLoss) -> String {
    let reason = &loss.reason;
    if loss.cause == Cause::OutOfMemory {
        return format!(
            "{reason} (worker {}). Let it use less memory, or raise its container_limits.memory",
            standing.worker.runtime.worker()
        );
    }
    format!(
        "the step was lost on worker {}: {reason}. It had started, so it is not run again by itself; \
         trigger the job again if that is safe",
        standing.worker.runtime.worker()
    )
}
