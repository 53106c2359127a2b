//! Containers that stay after their step, so that people can look inside, and the order in which
//! they go.
//!
//! A step's container is kept from the commit of its result to the end of its build, and longer if
//! the build did not succeed. Its shim stays connected, and the hub attends to it; the build's
//! driver does not.

mod shrink;

use std::{collections::HashMap, time::Duration};

use airside_hub::Work;
use airside_model::{BuildStatus, Handle, StepKind, WorkerName, chain};
use airside_protocol::{Executable, Order};
use airside_runtime::{KeptLimits, Shortage};
use airside_store::{HIJACK_GRACE, KeptContainer, Micros, now};
use futures::{StreamExt, stream};

use crate::{
    ContainerHold, Orchestrator, Result, StepRequest,
    container_ref::ContainerRef,
    placing::StepPlacement,
    request::{Afterwards, HeldContainer},
};

/// Number of containers that are destroyed at the same time.
const AT_ONCE: usize = 8;

/// Time without checks after which a container that is kept for them is removed.
const FOR_CHECKS: Duration = Duration::from_secs(5 * 60);

/// Times for which containers of builds that did not succeed stay, and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeping {
    /// Time for containers of a job's latest build.
    pub failed: Duration,
    /// Time for containers of a job's latest build on a worker whose room is shared with others: a
    /// cluster.
    pub failed_elsewhere: Duration,
    /// Time for containers of a build without a job.
    pub one_off: Duration,
    /// Largest number of containers on one worker, those of running builds included.
    pub most: usize,
}

impl Default for Keeping {
    fn default() -> Self {
        Self {
            failed: Duration::from_secs(120 * 3600),
            failed_elsewhere: Duration::from_secs(3600),
            one_off: Duration::from_secs(5 * 60),
            most: 100,
        }
    }
}

/// The rules of one worker for kept containers.
#[derive(Clone, Copy, Debug, Default)]
struct Room {
    /// Others use it too: it is a cluster.
    shared: bool,
    limits: KeptLimits,
}

impl Keeping {
    /// Returns true if the time of a kept container is over.
    fn is_over(&self, kept: &KeptContainer, room: Room, now: Micros) -> bool {
        if !kept.status.is_finished() || is_in_use(kept, now) {
            return false;
        }
        if let Some(checked_at) = kept.checked_at {
            return now.since(checked_at) >= FOR_CHECKS;
        }
        let stay = match kept.job {
            None => self.one_off,
            Some(_) if room.shared => {
                let stay = room.limits.stay.unwrap_or(self.failed_elsewhere);
                stay.min(self.failed)
            }
            Some(_) => self.failed,
        };
        kept.status == BuildStatus::Succeeded
            || kept.superseded
            || now.since(kept.ended_at.unwrap_or(kept.kept_at)) >= stay
    }

    /// Returns the containers whose time is over, and the oldest of those above the limit. `kept`
    /// is in order of age.
    fn overdue(
        &self,
        kept: &[KeptContainer],
        room: impl Fn(&WorkerName) -> Room,
        now: Micros,
    ) -> Vec<ContainerRef> {
        let mut counts: HashMap<&WorkerName, usize> = HashMap::new();
        let mut overdue = Vec::new();
        // The youngest are counted first: those after the limit are too many.
        for each in kept.iter().rev() {
            let worker = &each.container.worker;
            let room = room(worker);
            let most = (room.limits.most).map_or(self.most, |most| most.min(self.most));
            let count = counts.entry(worker).or_default();
            let surplus = *count >= most && !is_in_use(each, now);
            if surplus || self.is_over(each, room, now) {
                overdue.push(ContainerRef::from(&each.container));
            } else {
                *count += 1;
            }
        }
        overdue
    }
}

pub(crate) fn is_in_use(kept: &KeptContainer, now: Micros) -> bool {
    let hijacked_at = kept.container.hijacked_at;
    hijacked_at.is_some_and(|then| now.since(then) < HIJACK_GRACE)
}

/// Returns the folder in which a person who intercepts a step begins: beside its artifacts.
pub(crate) fn folder(request: &StepRequest) -> &str {
    match request.labels.kind {
        StepKind::Get => "/tmp/build/get",
        StepKind::Put => "/tmp/build/put",
        _ => &request.dir,
    }
}

impl Orchestrator {
    /// Gives up what a step stood on, but for its container, which stays for a while so that people
    /// can look inside. Only after its result is committed.
    pub async fn release(&self, held: ContainerHold) {
        self.let_go(held).await;
        self.settle_if_leaving().await;
    }

    async fn let_go(&self, held: ContainerHold) {
        let Some(mut holding) = held.0 else {
            return;
        };
        if holding.afterwards == Afterwards::Kept
            && let Some(session) = holding.session.take()
        {
            let container_ref = &holding.container_ref;
            match self.parts.store.keep_container(&container_ref.handle).await {
                Ok(true) => {
                    container_ref.log_state("kept");
                    return session.keep();
                }
                Ok(false) => holding.session = Some(session),
                Err(error) => {
                    return container_ref
                        .log_failure(&error, "container left until its build ends");
                }
            }
        }
        self.discard(ContainerHold(Some(holding))).await;
    }

    /// Gives up all that a step stood on, its container too.
    pub async fn discard(&self, held: ContainerHold) {
        let Some(HeldContainer {
            container_ref,
            session,
            ..
        }) = held.0
        else {
            return;
        };
        if let Err(error) = self.parts.store.doom_container(&container_ref.handle).await {
            return container_ref.log_failure(&error, "container left to the sweeper");
        }
        container_ref.log_state("destroying");
        if let Some(session) = session {
            session.dismiss();
        }
        // Off the critical path: the sweeper repeats what fails here.
        let orchestrator = self.clone();
        airside_tasks::spawn("end of a container", async move {
            orchestrator.destroy(&container_ref).await
        });
    }

    /// Attaches a session to every kept container that has none, as after a restart, so that its
    /// shim has a peer.
    pub async fn attend_kept(&self) -> Result<()> {
        let hub = &self.parts.hub;
        for kept in self.parts.store.kept_containers().await? {
            let handle = kept.container.handle;
            if !hub.is_attached(&handle) {
                hub.attach(handle, nothing_more(kept.epoch)).keep();
            }
        }
        Ok(())
    }

    /// Removes kept containers whose time is over, and an earlier server's for checks, which no
    /// check will find.
    pub(crate) async fn collect_kept(&self) -> Result<()> {
        let mut kept = self.parts.store.kept_containers().await?;
        let guests = &self.parts.guests;
        let orphans = kept.extract_if(.., |kept| {
            kept.checked_at.is_some()
                && !guests.has(&kept.container.handle)
                && !is_in_use(kept, now())
        });
        let orphans: Vec<_> = orphans
            .map(|kept| ContainerRef::from(&kept.container))
            .collect();
        self.doom(orphans).await?;
        kept.retain(|kept| !guests.is_busy(&kept.container.handle));
        let keeping = self.parts.patience.keeping;
        let overdue = keeping.overdue(&kept, |worker| self.room(worker), now());
        self.doom(overdue).await
    }

    fn room(&self, worker: &WorkerName) -> Room {
        match self.parts.workers.get(worker) {
            None => Room {
                shared: true,
                ..Room::default()
            },
            Some(entry) => Room {
                shared: !entry.runtime.capabilities().mounts_volumes,
                limits: entry.runtime.kept(),
            },
        }
    }

    /// Removes kept containers for a step that finds no room, as far as its runtime says that this
    /// helps.
    pub(crate) async fn make_room(
        &self,
        placement: &StepPlacement,
        shortage: &Shortage,
    ) -> Result<()> {
        let runtime = &placement.worker.runtime;
        let kept = self.parts.store.kept_containers().await?;
        let guests = &self.parts.guests;
        let may_go = kept.iter().filter(|kept| {
            kept.container.worker == *runtime.worker()
                && !is_in_use(kept, now())
                && !guests.is_busy(&kept.container.handle)
        });
        let may_go: Vec<ContainerRef> = may_go
            .map(|kept| ContainerRef::from(&kept.container))
            .collect();
        let handles: Vec<Handle> = may_go.iter().map(|it| it.handle.clone()).collect();
        let spec = &placement.record.spec;
        let go = match runtime.make_room(spec, shortage, &handles).await {
            Ok(go) => go,
            Err(error) => {
                placement
                    .container_ref
                    .log_failure(&error, "room not made yet");
                return Ok(());
            }
        };
        let going = may_go.into_iter().filter(|it| go.contains(&it.handle));
        let going: Vec<ContainerRef> = going.collect();
        for container_ref in &going {
            container_ref.log_decision("kept container given up to make room");
        }
        self.doom(going).await
    }

    /// Removes the container that was kept longest on this machine's own disk, which is full.
    /// Returns false if none is left but those that people look into.
    pub async fn give_up_kept(&self) -> Result<bool> {
        let kept = self.parts.store.kept_containers().await?;
        let is_here = |name: &WorkerName| {
            let entry = self.parts.workers.get(name);
            entry.is_some_and(|entry| entry.runtime.capabilities().mounts_volumes)
        };
        let oldest = kept.iter().find(|kept| {
            kept.status.is_finished() && is_here(&kept.container.worker) && !is_in_use(kept, now())
        });
        let Some(oldest) = oldest else {
            return Ok(false);
        };
        let oldest = ContainerRef::from(&oldest.container);
        oldest.log_decision("kept container given up: the disk is full");
        self.doom(vec![oldest]).await?;
        Ok(true)
    }

    /// Removes images from which no container was made for this time, on every worker that keeps
    /// its own.
    pub async fn collect_images(&self, unused_for: Duration) -> u64 {
        let mut collected = 0;
        for entry in self.parts.workers.entries().iter() {
            match entry.runtime.collect_images(unused_for).await {
                Ok(images) => collected += images,
                Err(error) => {
                    let worker = entry.runtime.worker();
                    tracing::warn!(
                        %worker, error = %chain(&error),
                        "unused images not removed"
                    );
                }
            }
        }
        collected
    }

    pub(crate) async fn doom(&self, containers: Vec<ContainerRef>) -> Result<()> {
        for container_ref in &containers {
            container_ref.log_decision("kept container expired");
            self.parts.guests.withdraw(&container_ref.handle);
            self.parts
                .store
                .doom_container(&container_ref.handle)
                .await?;
            container_ref.log_state("destroying");
        }
        self.destroy_all(containers).await;
        Ok(())
    }

    pub(crate) async fn destroy_all(&self, containers: Vec<ContainerRef>) {
        stream::iter(containers)
            .for_each_concurrent(AT_ONCE, async |container_ref| {
                self.destroy(&container_ref).await
            })
            .await;
    }
}

/// Returns the work for a shim that has long had its order and has done it.
fn nothing_more(epoch: i64) -> Work {
    let order = Order {
        run: Executable::Shim,
        args: Vec::new(),
        env: Vec::new(),
        dir: "/".to_owned(),
        user: None,
        tty: None,
        stdin: None,
        image: None,
        fetch: Vec::new(),
        make_dirs: Vec::new(),
        mounted: Vec::new(),
        hermetic: false,
        upload: Vec::new(),
        fence_after_seconds: 0,
    };
    Work {
        order,
        epoch,
        output_received: 0,
        drops_output: false,
    }
}

#[cfg(test)]
mod tests;
