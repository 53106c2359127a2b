//! The loop: handles events of the store, makes the passes that are due, waits.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use airside_model::{BuildId, JobId, PipelineId, ResourceId, chain};
use airside_schedule::{Names, View, pass::Checked};
use airside_store::Store;
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval_at, sleep_until},
};
use tracing::{error, warn};

use crate::{
    BuildRunner, InputChecks, Result, SWEEP_INTERVAL, SchedulerRequest, Spacing,
    pipeline_graph::PipelineGraph, spacing::SpacedJobs,
};

/// Pause after a failure of the store.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Maximum number of rows kept of jobs and resources, between two sweeps.
const MAX_ROWS: usize = 20_000;

/// Maximum number of jobs whose configuration is kept.
const MAX_JOBS: usize = 50_000;

pub(crate) struct Driver {
    pub(crate) store: Store,
    pub(crate) runner: Arc<dyn BuildRunner>,
    pub(crate) checks: Arc<dyn InputChecks>,
    pub(crate) view: View,
    pub(crate) names: Names,
    /// Pipelines as they are configured, until they are set anew.
    pub(crate) graphs: HashMap<PipelineId, Arc<PipelineGraph>>,
    pub(crate) pipelines: Owners,
    /// Jobs that are to have a pass.
    pub(crate) due: BTreeMap<PipelineId, Due>,
    /// True if pipelines that builds set may have lost the last build that sets them.
    pub(crate) look_for_abandoned: bool,
    pub(crate) checked: HashMap<ResourceId, Checked>,
    /// Resources whose checks builds wait for.
    pub(crate) asked: HashMap<BuildId, HashSet<ResourceId>>,
    pub(crate) spaced_jobs: SpacedJobs,
    /// Hashes of the stored next inputs of jobs; only hashes, as there are many.
    pub(crate) next: HashMap<JobId, u64>,
}

/// Jobs of a pipeline that are due for a pass; without any only its builds are looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Due {
    pub(crate) all: bool,
    pub(crate) jobs: BTreeSet<JobId>,
}

/// Pipelines to which jobs and resources belong.
#[derive(Default)]
pub(crate) struct Owners {
    /// Pipelines with a job or resource here.
    pub(crate) known: HashSet<PipelineId>,
    pub(crate) jobs: HashMap<JobId, PipelineId>,
    pub(crate) resources: HashMap<ResourceId, PipelineId>,
}

impl Driver {
    pub(crate) fn new(
        store: Store,
        runner: Arc<dyn BuildRunner>,
        checks: Arc<dyn InputChecks>,
        spacing: Spacing,
    ) -> Self {
        Self {
            store,
            runner,
            checks,
            view: View::default(),
            names: Names::default(),
            graphs: HashMap::new(),
            pipelines: Owners::default(),
            due: BTreeMap::new(),
            look_for_abandoned: true,
            checked: HashMap::new(),
            asked: HashMap::new(),
            spaced_jobs: SpacedJobs::new(spacing),
            next: HashMap::new(),
        }
    }

    /// Runs until it is dropped.
    pub(crate) async fn run(&mut self, requests: &mut mpsc::Receiver<SchedulerRequest>) {
        // Before the first look: later changes arrive as events.
        let mut news = self.store.news();
        let mut sweeps = interval_at(Instant::now() + SWEEP_INTERVAL, SWEEP_INTERVAL);
        sweeps.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.sweep_with_retry().await;
        loop {
            let again = self.work().await;
            let rested = self.spaced_jobs.next();
            tokio::select! {
                () = tokio::time::sleep(RETRY_PAUSE), if again => {}
                heard = news.next() => {
                    self.handle_news_with_retry(heard).await;
                    while let Some(heard) = news.waiting() {
                        self.handle_news_with_retry(heard).await;
                    }
                }
                () = sleep_until(rested.unwrap_or_else(Instant::now)), if rested.is_some() => {
                    while let Some((pipeline, job)) = self.spaced_jobs.rested(Instant::now()) {
                        self.due.entry(pipeline).or_default().jobs.insert(job);
                    }
                }
                Some(ask) = requests.recv() => self.handle_request(ask).await,
                _ = sweeps.tick() => self.sweep_with_retry().await,
            }
        }
    }

    /// Makes the passes of every job that is due. Returns true if one failed and is to be tried
    /// again a little later.
    async fn work(&mut self) -> bool {
        let mut failed = BTreeMap::new();
        while let Some((pipeline, jobs)) = self.due.pop_first() {
            let passes = self.schedule_pipeline(pipeline, jobs.clone());
            match airside_tasks::caught("pass of a pipeline", passes).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    warn!(
                        %pipeline,
                        error = %chain(&error),
                        "pipeline not scheduled; it is tried again"
                    );
                    self.graphs.remove(&pipeline);
                    failed.insert(pipeline, jobs);
                }
                Err(_) => {
                    error!(%pipeline, "pass ended by a panic; the pipeline rests until its next event");
                    self.forget_what_was_read();
                }
            }
        }
        if std::mem::take(&mut self.look_for_abandoned)
            && let Err(error) = self.archive_abandoned().await
        {
            warn!(
                error = %chain(&error),
                "abandoned pipelines not archived"
            );
        }
        let again = !failed.is_empty();
        self.due.extend(failed);
        again
    }

    /// Forgets everything that was read: a panic may have left any of it half changed.
    fn forget_what_was_read(&mut self) {
        self.view = View::default();
        self.graphs.clear();
        self.asked.clear();
        self.next.clear();
    }

    /// Forgets all that was read, and looks at everything.
    pub(crate) async fn sweep(&mut self) -> Result<()> {
        self.forget_what_was_read();
        self.pipelines = Owners::default();
        self.look_for_abandoned = true;
        for (pipeline, job) in self.store.jobs_with_unfinished().await? {
            self.due.entry(pipeline).or_default().jobs.insert(job);
        }
        for pipeline in self.store.pipelines(None).await? {
            // What rests has nothing to look at but builds of before.
            if !pipeline.paused && !pipeline.archived {
                self.look_at_all(pipeline.id);
            }
        }
        Ok(())
    }

    async fn sweep_with_retry(&mut self) {
        while let Err(error) = self.sweep().await {
            warn!(
                error = %chain(&error),
                "scheduling sweep failed; will retry"
            );
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }

    async fn handle_news_with_retry(
        &mut self,
        heard: Result<airside_store::News, airside_store::Missed>,
    ) {
        let done = match heard {
            Ok(news) => self.handle_news(news).await,
            Err(airside_store::Missed) => self.sweep().await,
        };
        if let Err(error) = done {
            warn!(
                error = %chain(&error),
                "event of the store not handled; everything is looked at"
            );
            self.sweep_with_retry().await;
        }
    }

    /// Keeps what is remembered of the past within bounds.
    pub(crate) fn trim(&mut self) {
        if self.view.size() > MAX_ROWS {
            self.view.trim(MAX_ROWS / 4);
        }
        if self.pipelines.jobs.len() > MAX_JOBS {
            self.graphs.clear();
            self.pipelines = Owners::default();
        }
    }

    /// Archives pipelines that builds set and no build sets any more.
    async fn archive_abandoned(&mut self) -> Result<()> {
        for pipeline in self.store.abandoned_pipelines().await? {
            tracing::info!(%pipeline, "pipeline archived: no build stands for it any more");
            self.store.archive_pipeline(pipeline).await?;
        }
        Ok(())
    }
}
