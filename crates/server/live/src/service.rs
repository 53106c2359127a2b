//! The loop that hears of changes, reads what is followed, and tells readers.

use std::{collections::HashMap, sync::Arc, time::Duration};

use airside_model::{JobId, PipelineId, chain};
use airside_store::{DashboardOf, Missed, ShownChange, Store, now};
use airside_telemetry::metrics::Metrics;
use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until, timeout},
};
use tracing::warn;

use crate::{
    LiveReader, LiveRequest, LiveSight, LiveTopic, ReaderRights, TopicAccess, TopicVerdict,
    board::{Board, Needs, ReaderId, ReaderStep, Reads, hello},
    marks::Marks,
    reader::BEAT,
};

/// Time between two looks at what changed.
const INTERVAL: Duration = Duration::from_millis(100);

/// Time until a look that failed is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Time that a page waits for its first content.
const FIRST_LOOK: Duration = Duration::from_secs(10);

/// Number of jobs whose pipelines are remembered.
const MAX_JOBS: usize = 100_000;

/// The live streams of this server; clones share them.
#[derive(Clone)]
pub struct Live(Arc<Inner>);

struct Inner {
    store: Store,
    metrics: Metrics,
    edition: String,
    boot: u32,
    board: Mutex<Board>,
    /// A topic came that was not read yet.
    wake: Notify,
    /// The pipelines of jobs, which never change.
    homes: Mutex<HashMap<JobId, PipelineId>>,
}

impl Live {
    /// `edition` distinguishes versions of the server, so that pages know when to load again.
    pub fn new(store: Store, metrics: Metrics, edition: &str) -> Self {
        let boot = rand::random();
        Self(Arc::new(Inner {
            store,
            metrics,
            edition: edition.to_owned(),
            boot,
            board: Mutex::new(Board::new(boot)),
            wake: Notify::new(),
            homes: Mutex::default(),
        }))
    }

    /// Adds a reader of topics, with the rights that were judged for them just now.
    pub fn open(&self, request: &LiveRequest, rights: ReaderRights) -> LiveReader {
        let notify = Arc::new(Notify::new());
        let hello = hello(
            self.0.boot,
            &self.0.edition,
            now().seconds(),
            BEAT.as_secs(),
        );
        let mut board = self.0.board.lock();
        let id = board.join(request, rights, &hello, notify.clone());
        self.0.metrics.live_readers(board.readers());
        drop(board);
        self.0.wake.notify_one();
        LiveReader::new(self.clone(), id, notify)
    }

    /// Returns the dashboard as a document for a page:
    /// `{"boot":"3f9a01bc","v":57,"items":[…]}`. `None`: it cannot be read now.
    pub async fn dashboard(&self, sight: LiveSight) -> Option<String> {
        let topic = LiveTopic::Dashboard;
        let request = LiveRequest {
            topics: vec![(topic, None)],
        };
        let access = TopicVerdict::Allowed(TopicAccess::default());
        let rights = ReaderRights {
            sight: sight.clone(),
            topics: vec![(topic, access)],
        };
        // It keeps the topic up for a while, until the page's own stream comes.
        let reader = self.open(&request, rights);
        let sight = Arc::new(sight);
        let read = async {
            loop {
                if let Some(document) = self.0.board.lock().dashboard(&sight) {
                    return document;
                }
                reader.changed().await;
            }
        };
        timeout(FIRST_LOOK, read).await.ok()
    }

    pub(crate) fn take(&self, id: ReaderId) -> ReaderStep {
        self.0.board.lock().take(id)
    }

    pub(crate) fn judged(&self, id: ReaderId, rights: ReaderRights) {
        self.0.board.lock().judged(id, rights, Instant::now());
    }

    pub(crate) fn leave(&self, id: ReaderId) {
        let mut board = self.0.board.lock();
        board.leave(id, Instant::now());
        self.0.metrics.live_readers(board.readers());
    }

    /// Hears of changes and tells readers, for good.
    pub async fn run(self) {
        let mut changes = self.0.store.shown_changes();
        // What happened before is not known.
        let mut marks = Marks::default();
        marks.miss();
        let mut due = Instant::now();
        loop {
            tokio::select! {
                change = changes.next() => marks.hear(change),
                () = self.0.wake.notified() => {
                    marks.is_retried |= !self.look(&mut Marks::default()).await;
                }
                () = sleep_until(due), if !marks.is_empty() => {
                    while let Some(change) = changes.waiting() {
                        marks.hear(change);
                    }
                    due = if self.look(&mut marks).await {
                        Instant::now() + INTERVAL
                    } else {
                        Instant::now() + RETRY
                    };
                }
            }
        }
    }

    /// Reads what the marks concern, and tells readers. `false`: it could not be read, and the
    /// marks stay.
    async fn look(&self, marks: &mut Marks) -> bool {
        if self.0.board.lock().is_idle() {
            *marks = Marks::default();
            return true;
        }
        match self.try_look(marks).await {
            Ok(()) => {
                *marks = Marks::default();
                true
            }
            Err(error) => {
                warn!(
                    error = %chain(&error),
                    "changes not read for pages; they are read again"
                );
                false
            }
        }
    }

    async fn try_look(&self, marks: &mut Marks) -> airside_store::Result<()> {
        self.resolve(marks).await?;
        let needs = self.0.board.lock().needs(marks, Instant::now());
        let reads = self.read(needs).await?;
        let counts = {
            let mut board = self.0.board.lock();
            board.apply(marks, reads);
            std::mem::take(&mut board.counts)
        };
        self.0.metrics.live_told(counts.patches, counts.overflows);
        Ok(())
    }

    async fn read(&self, needs: Needs) -> airside_store::Result<Reads> {
        let store = &self.0.store;
        let mut reads = Reads {
            all_rows: needs.all_rows,
            ..Reads::default()
        };
        if needs.all_pipelines {
            let all = store.dashboard(&DashboardOf::Everybody).await?;
            self.learn(all.iter().map(|pipeline| (pipeline.id, &*pipeline.jobs)));
            reads.all_pipelines = Some(all);
        }
        for id in needs.pipelines {
            let read = store.dashboard(&DashboardOf::Pipeline(id)).await?;
            self.learn(read.iter().map(|pipeline| (pipeline.id, &*pipeline.jobs)));
            reads.pipelines.push((id, read.into_iter().next()));
        }
        for id in needs.builds {
            reads.builds.push((id, store.build(id).await?));
        }
        if !needs.rows.is_empty() {
            let homes = store.build_homes(&needs.rows).await?.into_iter();
            let listed = homes.filter(|home| home.listed);
            reads.rows = listed
                .map(|home| (home.build, home.team, home.public))
                .collect();
        }
        Ok(reads)
    }

    /// Finds the pipelines of jobs and resources that changed, if pages show them.
    async fn resolve(&self, marks: &mut Marks) -> airside_store::Result<()> {
        let (shows_pipelines, shows_a_pipeline) = {
            let board = self.0.board.lock();
            (board.shows_pipelines(), board.shows_a_pipeline())
        };
        if shows_pipelines {
            for job in marks.jobs.clone() {
                marks.pipelines.extend(self.pipeline_of(job).await?);
            }
        }
        if shows_a_pipeline {
            for resource in marks.resources.clone() {
                if let Some(row) = self.0.store.resource_by_id(resource).await? {
                    marks.resource_of(row.pipeline, resource);
                }
            }
        }
        Ok(())
    }

    async fn pipeline_of(&self, job: JobId) -> airside_store::Result<Option<PipelineId>> {
        let known = self.0.homes.lock().get(&job).copied();
        if known.is_some() {
            return Ok(known);
        }
        let row = self.0.store.job_by_id(job).await?;
        Ok(row.map(|row| row.pipeline))
    }

    fn learn<'a>(
        &self,
        pipelines: impl Iterator<Item = (PipelineId, &'a [airside_store::DashboardJob])>,
    ) {
        let mut homes = self.0.homes.lock();
        if homes.len() > MAX_JOBS {
            homes.clear();
        }
        for (pipeline, jobs) in pipelines {
            homes.extend(jobs.iter().map(|job| (job.id, pipeline)));
        }
    }
}

impl Marks {
    fn hear(&mut self, change: Result<ShownChange, Missed>) {
        match change {
            Ok(change) => self.note(change),
            Err(Missed) => self.miss(),
        }
    }
}
