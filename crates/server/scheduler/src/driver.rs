//! The loop: hears, looks at what is concerned, waits.

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
    BuildRunner, InputChecks, Result, SWEEP, SchedulerRequest, Spacing,
    pipeline_graph::PipelineGraph, spacing::SpacedJobs,
};

/// After a failure of the store.
const PAUSE: Duration = Duration::from_secs(1);

/// What is kept of a job or a resource at most, between two sweeps.
const MAX_ROWS: usize = 20_000;

/// Of how many jobs the configuration is kept at most.
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
    /// Whether pipelines that builds set may have lost whoever stood for them.
    pub(crate) look_for_abandoned: bool,
    pub(crate) checked: HashMap<ResourceId, Checked>,
    /// What builds asked to be checked for them.
    pub(crate) asked: HashMap<BuildId, HashSet<ResourceId>>,
    pub(crate) spaced_jobs: SpacedJobs,
    /// What is stored as the next inputs of jobs; of each only a hash, as there are many.
    pub(crate) next: HashMap<JobId, u64>,
}

/// Which jobs of a pipeline are to have a pass; none is a look at its builds alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Due {
    pub(crate) all: bool,
    pub(crate) jobs: BTreeSet<JobId>,
}

/// To which pipelines jobs and resources belong.
#[derive(Default)]
pub(crate) struct Owners {
    /// Those that have any here.
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
        // Before the first look: what happens meanwhile is heard.
        let mut news = self.store.news();
        let mut sweeps = interval_at(Instant::now() + SWEEP, SWEEP);
        sweeps.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.sweep_with_retry().await;
        loop {
            let again = self.work().await;
            tokio::select! {
                () = tokio::time::sleep(PAUSE), if again => {}
                heard = news.next() => {
                    self.handle_news_with_retry(heard).await;
                    while let Some(heard) = news.waiting() {
                        self.handle_news_with_retry(heard).await;
                    }
                }
                () = sleep_until(self.spaced_jobs.next().unwrap_or_else(Instant::now)), if self.spaced_jobs.next().is_some() => {
                    while let Some((pipeline, job)) = self.spaced_jobs.rested(Instant::now()) {
                        self.due.entry(pipeline).or_default().jobs.insert(job);
                    }
                }
                Some(ask) = requests.recv() => self.handle_request(ask).await,
                _ = sweeps.tick() => self.sweep_with_retry().await,
            }
        }
    }

    /// Looks at every job that is due. Whether something failed and is to be looked at again a little later.
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
                        "a pipeline could not be scheduled"
                    );
                    self.graphs.remove(&pipeline);
                    failed.insert(pipeline, jobs);
                }
                Err(_) => {
                    error!(%pipeline, "the panic ends the pass; the pipeline rests until there is news of it");
                    self.forget_what_was_read();
                }
            }
        }
        if std::mem::take(&mut self.look_for_abandoned)
            && let Err(error) = self.archive_abandoned().await
        {
            warn!(
                error = %chain(&error),
                "pipelines that builds set could not be looked through"
            );
        }
        let again = !failed.is_empty();
        self.due.extend(failed);
        again
    }

    /// A panic may have left any of it half changed.
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
                "the store cannot be looked through; trying again"
            );
            tokio::time::sleep(PAUSE).await;
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
                "news could not be followed up; looking at everything"
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

    /// Puts away pipelines that builds set and nobody stands for any more.
    async fn archive_abandoned(&mut self) -> Result<()> {
        for pipeline in self.store.abandoned_pipelines().await? {
            tracing::info!(%pipeline, "pipeline archived: no build stands for it any more");
            self.store.archive_pipeline(pipeline).await?;
        }
        Ok(())
    }
}
