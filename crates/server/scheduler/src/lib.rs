//! Drives the pure scheduler with the store: events in, builds out.
//!
//! ```text
//! store ── News ──▶ Driver ──▶ jobs that are concerned ──▶ pass ──▶ actions ──▶ store, Runner, Checks
//!   ▲                  └── Question / Answer ── View
//!   └──────────────────────────┘
//! ```
//!
//! One task does everything, one pass after the other, so that no two passes see the same free place.
//! Each action is one transaction, and a pass looks at what is stored: whatever a crash leaves half done,
//! the sweep of the next start finishes, and nothing is done twice. A slow sweep also makes up for news
//! that nobody told.
//!
//! *Absent:* how builds run ([`Runner`]) and how resources are checked ([`Checks`]).

#![forbid(unsafe_code)]

mod answer;
mod attend;
mod driver;
mod hear;
mod line;
mod pace;
mod resolving;
mod state;

use std::{sync::Arc, time::Duration};

use airside_model::{BuildId, JobId, ResourceId};
use airside_store::Store;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

pub use self::pace::Spacing;
pub use airside_schedule::preparation::{Blocking, Preparation};

/// Whoever runs builds.
pub trait Runner: Send + Sync {
    /// Runs a build that has its inputs, or ends one that was aborted before it had them. Returns at once;
    /// one that runs already goes on.
    fn run(&self, build: BuildId);
}

/// Whoever checks resources.
pub trait Checks: Send + Sync {
    /// A build waits for checks of these that end from now on. Returns at once; the end of each, whatever it
    /// found, is told with [`Store::check_ended`]. Asked for again while it is under way, nothing happens.
    fn ask(&self, wanted: WantedChecks);
}

/// Checks that a build waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedChecks {
    pub build: BuildId,
    pub resources: Vec<ResourceId>,
    /// Somebody asked for the build, so that the resource's interval is of no matter.
    pub skip_interval: bool,
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

/// How often everything is looked at, whether or not anything was told.
const SWEEP: Duration = Duration::from_secs(300);

/// What others want to know of the driver.
enum Ask {
    /// Why a build does not start.
    Preparation(BuildId, oneshot::Sender<Option<Prepared>>),
}

/// A preparation with the names of its inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    pub preparation: Preparation,
    /// In the order of the job, with the reason where one blocks.
    pub inputs: Vec<(String, Option<String>)>,
}

/// A handle on the driver; clones share it.
#[derive(Clone)]
pub struct Scheduling {
    store: Store,
    asks: mpsc::Sender<Ask>,
}

/// The driver before it runs. One of its clones runs at a time: another begins anew where one was broken off.
#[derive(Clone)]
pub struct Driver {
    store: Store,
    runner: Arc<dyn Runner>,
    checks: Arc<dyn Checks>,
    spacing: Spacing,
    asks: Arc<Mutex<mpsc::Receiver<Ask>>>,
}

impl Scheduling {
    pub fn new(
        store: Store,
        runner: Arc<dyn Runner>,
        checks: Arc<dyn Checks>,
        spacing: Spacing,
    ) -> (Self, Driver) {
        let (sender, asks) = mpsc::channel(64);
        let scheduling = Self {
            store: store.clone(),
            asks: sender,
        };
        let driver = Driver {
            store,
            runner,
            checks,
            spacing,
            asks: Arc::new(Mutex::new(asks)),
        };
        (scheduling, driver)
    }

    /// Asks for a look at a job.
    pub fn schedule(&self, job: JobId) {
        self.store.ask_for_job(job);
    }

    /// Why a pending build of a job does not start. `None`: there is no such build, or it is past that.
    pub async fn preparation(&self, build: BuildId) -> Result<Option<Prepared>> {
        let (sender, answer) = oneshot::channel();
        let asked = self.asks.send(Ask::Preparation(build, sender)).await;
        asked.map_err(|_| Error::Stopped)?;
        answer.await.map_err(|_| Error::Stopped)
    }
}

impl Driver {
    /// Sweeps, then acts on news until `shutdown`.
    pub async fn run(self, shutdown: CancellationToken) {
        let mut driver = driver::Driver::new(self.store, self.runner, self.checks, self.spacing);
        let mut asks = self.asks.lock().await;
        let _ = shutdown.run_until_cancelled(driver.run(&mut asks)).await;
    }
}
