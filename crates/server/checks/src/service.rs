//! The loop: handles events of the store, begins checks that are due, notes those that ended. Work
//! that takes long is done in tasks of their own ([`crate::task`]).

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use airside_config::Config;
use airside_model::{BuildStatus, PipelineId, ResourceId, chain};
use airside_schedule::Moment;
use airside_store::{LastCheck, Missed, News, Newsstand, now};
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::{
    Parts,
    check_queue::{Arrival, CheckQueue, Now, Start},
    limit::{LanePlace, Limit},
    spec::{self, Spec},
    task::{self, Task, TaskEnd},
};

/// Interval at which the times of periodic checks are written together.
const FLUSH_INTERVAL: Duration = Duration::from_secs(10);

/// Name of the component that an administrator pauses.
const COMPONENT: &str = "scanner";

pub(crate) async fn run(
    parts: Arc<Parts>,
    wanted: &mut mpsc::UnboundedReceiver<ResourceId>,
    shutdown: CancellationToken,
) {
    // Before anything is read: later changes arrive as events.
    let mut news = parts.store.news();
    let (ended, mut ends) = mpsc::unbounded_channel();
    let mut service = Service::new(parts, ended, shutdown.clone());
    let mut flush = tokio::time::interval(FLUSH_INTERVAL);
    service.read_all(Arrival::AtStart).await;
    loop {
        service.begin();
        let next = service.next();
        tokio::select! {
            () = shutdown.cancelled() => break,
            event = news.next() => service.handle_events(event, &mut news).await,
            Some(resource) = wanted.recv() => service.want(resource).await,
            Some(end) = ends.recv() => service.note_end(end),
            () = sleep_until(next) => {}
            _ = flush.tick() => service.flush().await,
        }
    }
    service.flush().await;
}

async fn sleep_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

struct Service {
    parts: Arc<Parts>,
    checks: CheckQueue<Spec>,
    limit: Limit,
    /// Ends of checks that are not written yet.
    unwritten: HashMap<ResourceId, LastCheck>,
    /// The status that people see of a resource's checks.
    shown: HashMap<ResourceId, BuildStatus>,
    /// True while an administrator has paused periodic checks.
    paused: bool,
    began: Instant,
    ended: mpsc::UnboundedSender<TaskEnd>,
    shutdown: CancellationToken,
}

impl Service {
    fn new(
        parts: Arc<Parts>,
        ended: mpsc::UnboundedSender<TaskEnd>,
        shutdown: CancellationToken,
    ) -> Self {
        Self {
            checks: CheckQueue::new(parts.policy),
            limit: Limit::new(parts.max_per_second),
            parts,
            unwritten: HashMap::new(),
            shown: HashMap::new(),
            paused: false,
            began: Instant::now(),
            ended,
            shutdown,
        }
    }

    fn now(&self) -> Now {
        Now {
            wall: Moment(now().0),
            run: self.began.elapsed(),
        }
    }

    /// Returns when the next periodic check is due.
    fn next(&mut self) -> Option<Instant> {
        if self.paused {
            return None;
        }
        let next = [self.checks.next(), self.limit.next()];
        let soonest = next.into_iter().flatten().min()?;
        Some(airside_model::deadline_after(self.began, soonest))
    }

    /// Begins the checks that are due, as far as the limits allow.
    fn begin(&mut self) {
        let now = self.now();
        while let Some(start) = self.checks.start(now, self.paused) {
            if start.asked {
                self.spawn(start, None);
            } else {
                self.limit.add(start);
            }
        }
        while let Some((start, lane)) = self.limit.pop(now.run) {
            self.spawn(start, Some(lane));
        }
    }

    fn spawn(&mut self, start: Start, place: LanePlace) {
        let Some(spec) = self.checks.spec(start.resource).cloned() else {
            self.limit.give_back(place);
            return;
        };
        // A check that was asked for writes its own end. The last end of a periodic one stays to be
        // written meanwhile: a check may always be under way at that time.
        if start.asked {
            self.unwritten.remove(&start.resource);
        }
        let task = Task {
            parts: self.parts.clone(),
            spec,
            shown: self.shown.get(&start.resource).copied(),
            asked: start.asked,
            failures: start.failures,
            place,
        };
        let (ended, shutdown) = (self.ended.clone(), self.shutdown.clone());
        airside_tasks::spawn("check", async move {
            // A check that is not over when the server stops runs again after its next start.
            if let Some(end) = shutdown.run_until_cancelled(task.run()).await {
                let _ = ended.send(end);
            }
        });
    }

    fn note_end(&mut self, end: TaskEnd) {
        self.limit.give_back(end.place);
        if end.facts.is_some() {
            self.unwritten.remove(&end.resource);
        }
        self.unwritten
            .extend(end.unwritten.map(|last| (end.resource, last)));
        self.shown
            .extend(end.shown.map(|status| (end.resource, status)));
        let now = self.now();
        self.checks.finished(end.resource, end.facts, now);
    }

    /// Requests a check of a resource. One that is not known belongs to a pipeline whose event has
    /// not arrived yet, or to an archived one.
    async fn want(&mut self, resource: ResourceId) {
        if self.checks.request(resource) {
            return;
        }
        if let Ok(Some(row)) = self.parts.store.resource_by_id(resource).await {
            self.read(row.pipeline, Arrival::Asked).await;
        }
        if !self.checks.request(resource) {
            debug!(%resource, "wanted check dropped: its resource is gone");
            self.parts.store.check_ended(resource, None);
        }
    }

    /// Handles an event of the store, and all that wait behind it.
    async fn handle_events(&mut self, first: Result<News, Missed>, news: &mut Newsstand) {
        let (mut pipelines, mut resources) = (HashSet::new(), HashSet::new());
        let mut next = Some(first);
        // A pipeline is read once, however many events name it.
        while let Some(event) = next {
            match event {
                Ok(News::PipelineGone(pipeline) | News::PipelineArchived(pipeline)) => {
                    pipelines.remove(&pipeline);
                    self.checks.remove_pipeline(pipeline);
                }
                Ok(
                    News::PipelineSet(pipeline)
                    | News::PipelinePaused(pipeline)
                    | News::PipelineUnpaused(pipeline),
                ) => {
                    pipelines.insert(pipeline);
                }
                Ok(
                    News::PinChanged(resource)
                    | News::HistoryChanged(resource)
                    | News::CheckEnded { resource, .. },
                ) => {
                    resources.insert(resource);
                }
                Ok(_) => {}
                Err(Missed) => return self.read_all(Arrival::Later).await,
            }
            next = news.waiting();
        }
        for resource in resources {
            self.learn(resource).await;
        }
        for pipeline in pipelines {
            self.read(pipeline, Arrival::Later).await;
        }
    }

    /// Reads one resource again.
    async fn learn(&mut self, resource: ResourceId) {
        if self.checks.spec(resource).is_none() {
            return;
        }
        let learnt = task::learn(&self.parts.store, resource).await;
        let learnt = match learnt {
            Ok(Some(learnt)) => learnt,
            Ok(None) => return,
            Err(error) => {
                warn!(%resource, error = %chain(&error), "end of a check not read from the database");
                return;
            }
        };
        // An end that is not written yet is newer.
        let unwritten = self.unwritten.get(&resource);
        if unwritten.is_some_and(|last| Some(last.ended_at) > learnt.last.map(|last| last.ended_at))
        {
            return;
        }
        self.unwritten.remove(&resource);
        self.shown
            .extend(learnt.shown.map(|status| (resource, status)));
        let now = self.now();
        let change = |known: &mut crate::check_queue::KnownResource<Spec>| {
            known.facts = spec::facts(&learnt);
            known.resource.pin.clone_from(&learnt.pin);
            known.spec.pin.clone_from(&learnt.pin);
        };
        self.checks.learn(resource, change, now);
    }

    async fn read_all(&mut self, arrival: Arrival) {
        match self.parts.store.pipelines_to_check().await {
            Ok(pipelines) => {
                let there: HashSet<PipelineId> = pipelines.into_iter().collect();
                self.checks.retain_pipelines(&there);
                for pipeline in there {
                    self.read(pipeline, arrival).await;
                }
            }
            Err(error) => warn!(
                error = %chain(&error),
                "pipelines not listed; new ones are not checked"
            ),
        }
    }

    async fn read(&mut self, pipeline: PipelineId, arrival: Arrival) {
        if let Err(error) = self.try_read(pipeline, arrival).await {
            warn!(%pipeline, error = %chain(&error), "pipeline not read; it is checked as it was");
        }
    }

    async fn try_read(
        &mut self,
        pipeline: PipelineId,
        arrival: Arrival,
    ) -> Result<(), airside_store::Error> {
        let store = &self.parts.store;
        // A paused pipeline has no periodic checks, and most are paused: they are read once a check
        // is requested.
        if arrival != Arrival::Asked && !self.checks.is_busy(pipeline) {
            let summary = store.pipeline_summary_by_id(pipeline).await?;
            if summary.is_none_or(|summary| summary.paused) {
                self.checks.remove_pipeline(pipeline);
                return Ok(());
            }
        }
        let found = store.pipeline_by_id(pipeline).await?;
        let Some(found) = found.filter(|found| !found.archived) else {
            self.checks.remove_pipeline(pipeline);
            return Ok(());
        };
        let Ok(config) = serde_json::from_value::<Config>(found.config.clone()) else {
            self.checks.remove_pipeline(pipeline);
            return Ok(());
        };
        let mut checkables = store.checkables(pipeline).await?;
        for checkable in &mut checkables {
            let unwritten = self.unwritten.get(&checkable.id);
            checkable.last = newer(checkable.last, unwritten.copied());
            self.shown
                .extend(checkable.shown.map(|status| (checkable.id, status)));
            task::look_for_pin(store, checkable).await?;
        }
        let is_paused = found.paused;
        let known = spec::read(found, config, checkables, self.parts.timeout);
        let now = self.now();
        self.checks
            .set_pipeline(pipeline, is_paused, known, arrival, now);
        Ok(())
    }

    /// Writes the times of checks, and reads if the component is paused.
    async fn flush(&mut self) {
        match self
            .parts
            .store
            .component_turn(COMPONENT, FLUSH_INTERVAL)
            .await
        {
            Ok(turn) => self.paused = !turn,
            Err(error) => warn!(
                error = %chain(&error),
                "pause of the component not read from the database"
            ),
        }
        let unwritten: Vec<_> = self
            .unwritten
            .iter()
            .map(|(id, last)| (*id, *last))
            .collect();
        match self.parts.store.note_checks(&unwritten).await {
            Ok(()) => self.unwritten.clear(),
            Err(error) => warn!(
                error = %chain(&error),
                "times of checks not written; they are kept for the next try"
            ),
        }
    }
}

/// Returns the later of two ends of one history.
fn newer(written: Option<LastCheck>, unwritten: Option<LastCheck>) -> Option<LastCheck> {
    match (written, unwritten) {
        (Some(written), Some(unwritten)) if unwritten.scope == written.scope => Some(unwritten),
        (written, _) => written,
    }
}
