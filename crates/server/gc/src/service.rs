//! The loop: what is due, by the clock or by what happened.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use airside_model::{JobId, chain};
use airside_store::{Missed, News};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{Collector, Kind, ballast};

/// The name under which an administrator can pause it.
const COMPONENT: &str = "collector";
/// The time between two looks at its pause.
const TURN: Duration = Duration::from_secs(30);
/// The time between two looks at the disk and at recent events.
const TICK: Duration = Duration::from_secs(5);
/// Pause after the disk was nearly full and nothing could be done.
const DISK_PAUSE: Duration = Duration::from_secs(15);

struct Service {
    collector: Collector,
    due: BTreeMap<Kind, Instant>,
    /// Jobs of which a build has ended.
    jobs: BTreeSet<JobId>,
    /// Looked at once already: a build's log is closed a moment after its end, and may not have
    /// been by then.
    jobs_again: BTreeSet<JobId>,
    turn: Instant,
    paused: bool,
    disk: Instant,
    /// The last look found the disk full to the last.
    was_full: bool,
    quotas: Instant,
}

impl Collector {
    /// Collects until `shutdown`.
    pub async fn run(self, shutdown: CancellationToken) {
        shutdown.run_until_cancelled(self.run_forever()).await;
    }

    async fn run_forever(self) {
        let mut news = self.parts.store.news();
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let now = Instant::now();
        let mut service = Service {
            collector: self,
            due: Kind::ALL.into_iter().map(|kind| (kind, now)).collect(),
            jobs: BTreeSet::new(),
            jobs_again: BTreeSet::new(),
            turn: now,
            paused: false,
            disk: now,
            was_full: false,
            quotas: now,
        };
        loop {
            tokio::select! {
                heard = news.next() => service.handle_event(heard),
                _ = ticks.tick() => service.tick().await,
            }
        }
    }
}

impl Service {
    fn handle_event(&mut self, heard: Result<News, Missed>) {
        let soon: &[Kind] = match heard {
            Ok(News::BuildFinished { job, .. }) => {
                self.jobs.insert(job);
                &[]
            }
            Ok(News::PipelineGone(_)) => &[
                Kind::Pipelines,
                Kind::ResourceCaches,
                Kind::Logs,
                Kind::Volumes,
            ],
            Ok(News::PipelineArchived(_) | News::PipelineSet(_)) => {
                &[Kind::Versions, Kind::Resources, Kind::TaskCaches]
            }
            Ok(News::HistoryChanged(_)) => &[Kind::Versions],
            Ok(_) => &[],
            Err(Missed) => &Kind::ALL,
        };
        let now = Instant::now();
        for kind in soon {
            self.due.insert(*kind, now);
        }
    }

    async fn tick(&mut self) {
        self.attend_to_disk().await;
        self.report_quotas().await;
        if self.is_paused().await {
            return;
        }
        let ended = std::mem::take(&mut self.jobs);
        let again = std::mem::replace(&mut self.jobs_again, ended.clone());
        for job in &ended | &again {
            let started = Instant::now();
            let reaped = self.collector.reap_job(job).await;
            self.report(Kind::BuildLogs, reaped, started);
        }
        for kind in Kind::ALL {
            let started = Instant::now();
            if self.due.get(&kind).is_some_and(|due| *due > started) {
                continue;
            }
            let collected = self.collector.collect(kind).await;
            self.report(kind, collected, started);
            self.due.insert(
                kind,
                airside_model::deadline_after(Instant::now(), kind.every()),
            );
        }
    }

    /// Asks for a turn now and then; an administrator may have paused it.
    async fn is_paused(&mut self) -> bool {
        let now = Instant::now();
        if now < self.turn {
            return self.paused;
        }
        let store = &self.collector.parts.store;
        match store.component_turn(COMPONENT, TURN).await {
            Ok(turn) => {
                self.paused = !turn;
                self.turn = now + TURN;
            }
            Err(error) => {
                if error.is_out_of_space() {
                    let _ = store.probe().await;
                }
                warn!(error = %chain(&error), "garbage collection postponed: the database does not answer");
                return true;
            }
        }
        self.paused
    }

    /// Makes room on the disk, even while the collector is paused: a full disk stops everything.
    async fn attend_to_disk(&mut self) {
        self.attend_to_full_disk().await;
        let now = Instant::now();
        if now < self.disk {
            return;
        }
        match self.collector.attend_to_disk().await {
            Ok(false) => {}
            Ok(true) => self.disk = now + DISK_PAUSE,
            Err(error) => {
                warn!(error = %chain(&error), "no room made on a nearly full disk");
                self.disk = now + TICK;
            }
        }
    }

    /// A disk that is full to the last at two looks in a row is not getting better by itself.
    async fn attend_to_full_disk(&mut self) {
        let parts = &self.collector.parts;
        let Ok(disk) = parts.volumes.disk() else {
            return;
        };
        if let Some(file) = &parts.ballast {
            ballast::tend(file, disk);
        }
        let is_full = ballast::is_full(disk);
        // So that it is known whether the database takes writes; what it says otherwise is said
        // elsewhere.
        if is_full || parts.store.is_full() {
            let _ = parts.store.probe().await;
        }
        if is_full && self.was_full {
            let made = self.collector.make_room_without_database().await;
            if let Err(error) = made {
                warn!(error = %chain(&error), "no room made on a full disk");
            }
        }
        self.was_full = is_full;
    }

    async fn report_quotas(&mut self) {
        let now = Instant::now();
        if now < self.quotas {
            return;
        }
        self.quotas = now + TURN;
        if let Err(error) = self.collector.report_quotas().await {
            warn!(error = %chain(&error), "use of the quotas of teams not read");
        }
    }

    fn report(&self, kind: Kind, collected: crate::Result<u64>, started: Instant) {
        let kind = kind.name();
        match collected {
            Ok(0) => {}
            Ok(removed) => {
                let took = started.elapsed();
                info!(kind, removed, ?took, "garbage collected");
                self.collector.parts.metrics.collected(kind, removed);
            }
            Err(error) => {
                warn!(kind, error = %chain(&error), "garbage not collected; it is tried again");
            }
        }
    }
}
