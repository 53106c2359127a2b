//! The loop: hears what changed, begins what is due, takes in what ended. Whatever takes long is done in tasks
//! of their own ([`crate::task`]).

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
    desk::{Arrival, Desk, Now, Start},
    limit::{Limit, Place},
    spec::{self, Spec},
    task::{self, End, Task},
};

/// Times of checks that nobody waits for are written together.
const FLUSH: Duration = Duration::from_secs(10);

/// The name under which an administrator can pause it.
const COMPONENT: &str = "scanner";

pub(crate) async fn run(
    parts: Arc<Parts>,
    asks: &mut mpsc::UnboundedReceiver<ResourceId>,
    shutdown: CancellationToken,
) {
    // Before anything is read: what changes from now on is heard.
    let mut news = parts.store.news();
    let (ended, mut ends) = mpsc::unbounded_channel();
    let mut service = Service::new(parts, ended, shutdown.clone());
    let mut flush = tokio::time::interval(FLUSH);
    service.read_all(Arrival::AtStart).await;
    loop {
        service.begin();
        let next = service.next();
        tokio::select! {
            () = shutdown.cancelled() => break,
            heard = news.next() => service.hear(heard, &mut news).await,
            Some(resource) = asks.recv() => service.want(resource).await,
            Some(end) = ends.recv() => service.end(end),
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
    desk: Desk<Spec>,
    limit: Limit,
    /// Ends of checks that are still to be written.
    unwritten: HashMap<ResourceId, LastCheck>,
    /// The status that people see of a resource's checks.
    shown: HashMap<ResourceId, BuildStatus>,
    /// An administrator wants nothing to be checked by itself.
    paused: bool,
    began: Instant,
    ended: mpsc::UnboundedSender<End>,
    shutdown: CancellationToken,
}

impl Service {
    fn new(
        parts: Arc<Parts>,
        ended: mpsc::UnboundedSender<End>,
        shutdown: CancellationToken,
    ) -> Self {
        Self {
            desk: Desk::new(parts.policy),
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

    /// When something is due by itself.
    fn next(&mut self) -> Option<Instant> {
        if self.paused {
            return None;
        }
        let next = [self.desk.next(), self.limit.next()];
        let soonest = next.into_iter().flatten().min()?;
        Some(airside_model::deadline_after(self.began, soonest))
    }

    /// Begins what is due, as far as the limits allow.
    fn begin(&mut self) {
        let now = self.now();
        while let Some(start) = self.desk.start(now, self.paused) {
            match start.asked {
                true => self.spawn(start, None),
                false => self.limit.add(start),
            }
        }
        while let Some((start, lane)) = self.limit.pop(now.run) {
            self.spawn(start, Some(lane));
        }
    }

    fn spawn(&mut self, start: Start, place: Place) {
        let Some(spec) = self.desk.spec(start.resource).cloned() else {
            self.limit.give_back(place);
            return;
        };
        // One that was asked for writes its own end. The last one of others stays to be written meanwhile: a check may
        // always be under way when that happens.
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
            // What is not over when the server stops is checked again after its next start.
            if let Some(end) = shutdown.run_until_cancelled(task.run()).await {
                let _ = ended.send(end);
            }
        });
    }

    fn end(&mut self, end: End) {
        self.limit.give_back(end.place);
        if end.facts.is_some() {
            self.unwritten.remove(&end.resource);
        }
        self.unwritten
            .extend(end.unwritten.map(|last| (end.resource, last)));
        self.shown
            .extend(end.shown.map(|status| (end.resource, status)));
        let now = self.now();
        self.desk.finished(end.resource, end.facts, now);
    }

    /// Somebody wants a resource checked. One that is not known is of a pipeline whose news is on its way,
    /// or of an archived one.
    async fn want(&mut self, resource: ResourceId) {
        if self.desk.ask(resource) {
            return;
        }
        if let Ok(Some(row)) = self.parts.store.resource_by_id(resource).await {
            self.read(row.pipeline, Arrival::Asked).await;
        }
        if !self.desk.ask(resource) {
            debug!(%resource, "a resource that is to be checked is gone");
            self.parts.store.check_ended(resource, None);
        }
    }

    async fn hear(&mut self, heard: Result<News, Missed>, news: &mut Newsstand) {
        let (mut pipelines, mut resources) = (HashSet::new(), HashSet::new());
        let mut next = Some(heard);
        // Of many news about one pipeline, one look is enough.
        while let Some(heard) = next {
            match heard {
                Ok(News::PipelineGone(pipeline) | News::PipelineArchived(pipeline)) => {
                    pipelines.remove(&pipeline);
                    self.desk.remove_pipeline(pipeline);
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

    /// Looks at one resource anew.
    async fn learn(&mut self, resource: ResourceId) {
        if self.desk.spec(resource).is_none() {
            return;
        }
        let learnt = task::learn(&self.parts.store, resource).await;
        let learnt = match learnt {
            Ok(Some(learnt)) => learnt,
            Ok(None) => return,
            Err(error) => {
                warn!(%resource, error = %chain(&error), "the end of a check cannot be read");
                return;
            }
        };
        // What is not written yet is newer.
        let unwritten = self.unwritten.get(&resource);
        if unwritten.is_some_and(|last| Some(last.ended_at) > learnt.last.map(|last| last.ended_at))
        {
            return;
        }
        self.unwritten.remove(&resource);
        self.shown
            .extend(learnt.shown.map(|status| (resource, status)));
        let now = self.now();
        let change = |known: &mut crate::desk::Known<Spec>| {
            known.facts = spec::facts(&learnt);
            known.resource.pin.clone_from(&learnt.pin);
            known.spec.pin.clone_from(&learnt.pin);
        };
        self.desk.learn(resource, change, now);
    }

    async fn read_all(&mut self, arrival: Arrival) {
        match self.parts.store.pipelines_to_check().await {
            Ok(pipelines) => {
                let there: HashSet<PipelineId> = pipelines.into_iter().collect();
                self.desk.retain_pipelines(&there);
                for pipeline in there {
                    self.read(pipeline, arrival).await;
                }
            }
            Err(error) => {
                warn!(error = %chain(&error), "pipelines cannot be listed; nothing new is checked")
            }
        }
    }

    async fn read(&mut self, pipeline: PipelineId, arrival: Arrival) {
        if let Err(error) = self.try_read(pipeline, arrival).await {
            warn!(%pipeline, error = %chain(&error), "a pipeline cannot be read; it is checked as it was");
        }
    }

    async fn try_read(
        &mut self,
        pipeline: PipelineId,
        arrival: Arrival,
    ) -> Result<(), airside_store::Error> {
        let store = &self.parts.store;
        // Nothing of a paused one is checked by itself, and most are paused: they are read once somebody asks.
        if arrival != Arrival::Asked && !self.desk.is_busy(pipeline) {
            let summary = store.pipeline_summary_by_id(pipeline).await?;
            if summary.is_none_or(|summary| summary.paused) {
                self.desk.remove_pipeline(pipeline);
                return Ok(());
            }
        }
        let found = store.pipeline_by_id(pipeline).await?;
        let Some(found) = found.filter(|found| !found.archived) else {
            self.desk.remove_pipeline(pipeline);
            return Ok(());
        };
        let Ok(config) = serde_json::from_value::<Config>(found.config.clone()) else {
            self.desk.remove_pipeline(pipeline);
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
        self.desk
            .set_pipeline(pipeline, is_paused, known, arrival, now);
        Ok(())
    }

    /// Writes the times of checks.
    async fn flush(&mut self) {
        match self.parts.store.component_turn(COMPONENT, FLUSH).await {
            Ok(turn) => self.paused = !turn,
            Err(error) => warn!(error = %chain(&error), "the database does not answer"),
        }
        let unwritten: Vec<_> = self
            .unwritten
            .iter()
            .map(|(id, last)| (*id, *last))
            .collect();
        match self.parts.store.note_checks(&unwritten).await {
            Ok(()) => self.unwritten.clear(),
            Err(error) => {
                warn!(error = %chain(&error), "times of checks could not be written; they are kept for later")
            }
        }
    }
}

/// The later of two ends of one history.
fn newer(written: Option<LastCheck>, unwritten: Option<LastCheck>) -> Option<LastCheck> {
    match (written, unwritten) {
        (Some(written), Some(unwritten)) if unwritten.scope == written.scope => Some(unwritten),
        (written, _) => written,
    }
}
