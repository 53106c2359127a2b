//! Drives the pure scheduler with the store: events in, builds out.
//!
//! ```text
//! store ── News ──▶ Driver ──▶ affected jobs ──▶ pass ──▶ actions ──▶ store
//!   ▲                 │                                        ├──▶ BuildRunner: the engine
//!   └── Question / Answer ── View                              └──▶ InputChecks: the checks
//! ```
//!
//! One task does everything, one pass after the other, so that no two passes see the same free
//! slot. Each action is one transaction, and a pass looks at stored rows: the sweep of the next
//! start finishes what a crash left half done, and nothing is done twice. A slow sweep also makes
//! up for events that were missed.
//!
//! *Absent:* running builds ([`BuildRunner`]) and checking resources ([`InputChecks`]).

mod answer;
mod driver;
mod news;
mod passes;
mod pipeline_graph;
mod pipeline_state;
mod resolving;
mod spacing;

use std::{sync::Arc, time::Duration};

use airside_model::{BuildId, JobId, ResourceId};
use airside_store::Store;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

pub use self::spacing::Spacing;
pub use airside_schedule::preparation::{Blocking, Preparation};

/// Runs builds: the port to the engine. Closures implement it.
pub trait BuildRunner: Send + Sync {
    /// Runs a build that has its inputs, or ends one that was aborted before it had them. Returns
    /// at once; a build that runs already goes on.
    fn run(&self, build: BuildId);
}

impl<F: Fn(BuildId) + Send + Sync> BuildRunner for F {
    fn run(&self, build: BuildId) {
        self(build);
    }
}

/// Checks the inputs of builds: the port to the checks. Closures implement it.
pub trait InputChecks: Send + Sync {
    /// Requests checks of these resources that begin from now on, for a build that waits for them.
    /// Returns at once; the end of each is announced with [`Store::check_ended`], whatever it
    /// found. A request while a check is under way is not a second check.
    fn request(&self, resources: &[ResourceId]);
}

impl<F: Fn(&[ResourceId]) + Send + Sync> InputChecks for F {
    fn request(&self, resources: &[ResourceId]) {
        self(resources);
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Store(#[from] airside_store::Error),
    #[error(
        "the stored configuration of pipeline {pipeline} cannot be read; set the pipeline again"
    )]
    Config {
        pipeline: airside_model::PipelineId,
        source: serde_json::Error,
    },
    #[error("pipeline {pipeline} cannot be scheduled")]
    Graph {
        pipeline: airside_model::PipelineId,
        source: airside_schedule::graph::UnknownName,
    },
    #[error(transparent)]
    Answer(#[from] airside_schedule::WrongAnswer),
    #[error("the scheduler has stopped")]
    Stopped,
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Interval at which everything is looked at, in case an event was missed.
const SWEEP_INTERVAL: Duration = Duration::from_secs(300);

/// A request to the running loop.
enum SchedulerRequest {
    /// The reason why a build does not start.
    Preparation(BuildId, oneshot::Sender<Option<Prepared>>),
}

/// A preparation with the names of its inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    pub preparation: Preparation,
    /// Inputs in the order of the job, with the reason where one blocks.
    pub inputs: Vec<(String, Option<String>)>,
}

impl Prepared {
    /// Returns the preparation of a build that started, or that belongs to no job.
    pub fn nothing_blocks(build: BuildId) -> Self {
        Self {
            preparation: Preparation::nothing_blocks(build),
            inputs: Vec::new(),
        }
    }
}

/// A handle on the loop; clones share it.
#[derive(Clone)]
pub struct Scheduler {
    store: Store,
    requests: mpsc::Sender<SchedulerRequest>,
}

/// The loop before it runs. One of its clones runs at a time: another starts from the store where
/// one was broken off.
#[derive(Clone)]
pub struct SchedulerLoop {
    store: Store,
    runner: Arc<dyn BuildRunner>,
    checks: Arc<dyn InputChecks>,
    spacing: Spacing,
    requests: Arc<Mutex<mpsc::Receiver<SchedulerRequest>>>,
}

impl Scheduler {
    pub fn new(
        store: Store,
        runner: Arc<dyn BuildRunner>,
        checks: Arc<dyn InputChecks>,
        spacing: Spacing,
    ) -> (Self, SchedulerLoop) {
        let (sender, requests) = mpsc::channel(64);
        let scheduler = Self {
            store: store.clone(),
            requests: sender,
        };
        let driver = SchedulerLoop {
            store,
            runner,
            checks,
            spacing,
            requests: Arc::new(Mutex::new(requests)),
        };
        (scheduler, driver)
    }

    /// Requests a pass of a job.
    pub fn schedule(&self, job: JobId) {
        self.store.ask_for_job(job);
    }

    /// Returns why a pending build of a job does not start. None if there is no such build, or it
    /// has started.
    pub async fn preparation(&self, build: BuildId) -> Result<Option<Prepared>> {
        let (sender, answer) = oneshot::channel();
        let asked = self
            .requests
            .send(SchedulerRequest::Preparation(build, sender))
            .await;
        asked.map_err(|_| Error::Stopped)?;
        answer.await.map_err(|_| Error::Stopped)
    }
}

impl SchedulerLoop {
    /// Sweeps, then handles events until `shutdown`.
    pub async fn run(self, shutdown: CancellationToken) {
        let mut driver = driver::Driver::new(self.store, self.runner, self.checks, self.spacing);
        let mut requests = self.requests.lock().await;
        let _ = shutdown
            .run_until_cancelled(driver.run(&mut requests))
            .await;
    }
}
