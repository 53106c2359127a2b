//! Drives builds.
//!
//! A build's plan is a tree. The outcome of each leaf is committed to the store when it is reached;
//! after a crash the tree is walked again: finished leaves answer from the store, running ones are
//! followed further, the rest start. The server that drives a build holds its lease, and every
//! write carries the lease's epoch.
//!
//! The engine knows no HTTP and no runtime: it reaches steps through the orchestrator alone.

mod across;
mod checks;
mod driver;
mod files;
mod image;
mod inputs;
mod interpret;
mod leaf;
mod outcome;
mod parallel;
mod reference;
mod scope;
mod status;
mod step_error;
mod steps;
mod stop;
mod turns;
mod upcoming;

use std::{collections::HashMap, sync::Arc, time::Duration};

use airside_checks::CheckWays;
use airside_logs::Logs;
use airside_model::{
    BuildId, BuildStatus, JobId, PipelineId, Plan, PlanId, TeamId, Version, chain,
};
use airside_orchestrator::Orchestrator;
use airside_resource_types::Registries;
use airside_runtime::Image;
use airside_secrets::Credentials;
use airside_setting::PipelineSetter;
use airside_store::{Build, NewBuild, OneOff, Store};
use airside_telemetry::metrics::Metrics;
use airside_telemetry::traces::TraceCause;
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{Instrument as _, error, field::Empty, info, warn};

use image::ServedImages;
use outcome::{Hidden, Outcome};
use step_error::StepError;
use turns::Turns;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Store(#[from] airside_store::Error),
    #[error(transparent)]
    Log(#[from] airside_logs::Error),
    #[error(transparent)]
    Orchestrator(#[from] airside_orchestrator::Error),
    #[error(transparent)]
    Panicked(#[from] airside_tasks::Panicked),
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Returns true if a second try may succeed a little later: the database, the log's disk or a
    /// runtime was away, or one of them full.
    fn is_transient(&self) -> bool {
        use airside_orchestrator::Error as Step;
        match self {
            Self::Store(error) | Self::Orchestrator(Step::Store(error)) => {
                error.is_transient() || error.is_out_of_space()
            }
            Self::Log(error) | Self::Orchestrator(Step::Log(error)) => {
                // A log that could not be written takes nothing more until it is opened anew.
                use airside_logs::Error::{Closed, Io};
                matches!(error, Io { .. } | Closed { .. })
            }
            Self::Orchestrator(Step::Runtime(error)) => {
                matches!(error, airside_runtime::Error::Unavailable { .. })
            }
            _ => false,
        }
    }

    /// Returns true if a fault in Airside ended a part of the build: it would do so again.
    fn is_panic(&self) -> bool {
        matches!(
            self,
            Self::Panicked(_) | Self::Orchestrator(airside_orchestrator::Error::Panicked(_))
        )
    }
}

/// Pause before a build is taken up again that a part of the server was away for; doubled each
/// time, up to [`MAX_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Lifetime of a lease. Another server may take one that is not renewed for this long.
const LEASE: Duration = Duration::from_secs(30);

/// A handle on the engine; clones share it.
#[derive(Clone)]
pub struct Engine {
    parts: Arc<Parts>,
}

/// The parts of the server that the engine uses.
pub struct EngineOptions {
    pub store: Store,
    pub logs: Logs,
    pub orchestrator: Orchestrator,
    pub metrics: Metrics,
    /// URL at which people reach the server.
    pub external_url: String,
    /// Address at which other servers reach this one's hub.
    pub address: String,
    /// Sets the pipelines of `set_pipeline` steps.
    pub pipelines: PipelineSetter,
    /// Source of the values of variables.
    pub credentials: Credentials,
    /// Image that the resource type `mock` hands out as its own.
    pub mock_image: Option<Image>,
    /// Administrator's settings of the registries that images come from.
    pub registries: Registries,
    /// The ways that checks run.
    pub check_ways: CheckWays,
    /// Timeout of a check whose resource sets none.
    pub check_timeout: Duration,
}

struct Parts {
    store: Store,
    logs: Logs,
    orchestrator: Orchestrator,
    metrics: Metrics,
    external_url: String,
    pipelines: PipelineSetter,
    credentials: Credentials,
    mock_image: Option<Image>,
    registries: Registries,
    check_ways: CheckWays,
    check_timeout: Duration,
    /// Resources, by pipeline and name, that are being checked.
    checking: Turns<(PipelineId, String)>,
    /// Holder of the leases: this process.
    holder: String,
    /// Address at which other servers reach this one's hub.
    address: String,
    /// Gets in progress of teams, by the key of their cache.
    fetching: Turns<(TeamId, String)>,
    /// The images that nodes may pull for teams.
    served_images: ServedImages,
    running: Mutex<HashMap<BuildId, Running>>,
    /// Traces that builds which have not begun are part of.
    causes: Mutex<HashMap<BuildId, TraceCause>>,
    tasks: TaskTracker,
    shutdown: CancellationToken,
}

/// A build that this process drives.
struct Running {
    cancel: CancellationToken,
    /// True once it was counted as running: once, however often it is taken up.
    counted: bool,
}

impl Engine {
    pub fn new(options: EngineOptions) -> Self {
        let parts = Parts {
            store: options.store,
            logs: options.logs,
            orchestrator: options.orchestrator,
            metrics: options.metrics,
            external_url: options.external_url,
            pipelines: options.pipelines,
            credentials: options.credentials,
            mock_image: options.mock_image,
            registries: options.registries,
            check_ways: options.check_ways,
            check_timeout: options.check_timeout,
            checking: Turns::default(),
            holder: format!("{}-{}", std::process::id(), options.address),
            address: options.address,
            fetching: Turns::default(),
            served_images: ServedImages::default(),
            running: Mutex::default(),
            causes: Mutex::default(),
            tasks: TaskTracker::new(),
            shutdown: CancellationToken::new(),
        };
        Self {
            parts: Arc::new(parts),
        }
    }

    /// Takes up every build that an earlier process left unfinished. Builds without inputs belong
    /// to the scheduler.
    pub async fn resume(&self) -> Result<()> {
        for build in self.parts.store.builds_with_open_log().await? {
            self.mend(&build).await?;
        }
        for build in self.parts.store.unfinished_builds().await? {
            if build.status == BuildStatus::Pending && !build.inputs_ready {
                continue;
            }
            info!(build = %build.id, status = %build.status, "build resumed");
            self.spawn_driver(build.id);
        }
        Ok(())
    }

    /// Makes a build that was just created part of the current trace, if there is one.
    pub fn note_cause(&self, build: BuildId) {
        if let Some(cause) = TraceCause::current() {
            self.parts.causes.lock().insert(build, cause);
        }
    }

    /// Runs a build that has its inputs, or ends one that was aborted before it had them. A build
    /// that runs already goes on.
    pub fn ensure_running(&self, build: BuildId) {
        if !self.parts.running.lock().contains_key(&build) {
            self.spawn_driver(build);
        }
    }

    /// Creates a build of the job that runs this plan, and starts it, whatever versions there are
    /// and whatever other builds wait.
    pub async fn trigger_planned(&self, job: JobId, by: &str, plan: &Plan) -> Result<Build> {
        let parts = &self.parts;
        let new = NewBuild {
            job,
            created_by: Some(by),
        };
        let build = parts.store.create_build(new).await?;
        info!(build = %build.id, created_by = by, "build created with its plan");
        let taken = parts
            .store
            .take_build(build.id, &parts.holder, &parts.address, LEASE)
            .await?;
        if let Some(lease) = taken {
            parts.store.start_build(&lease, plan).await?;
        }
        self.spawn_driver(build.id);
        Ok(build)
    }

    /// Returns the version of a step's outcome, if it has one.
    pub async fn version(&self, build: BuildId, step: &PlanId) -> Result<Option<Version>> {
        let outcome = self.parts.store.outcome::<Outcome, Hidden>(build, step);
        Ok(outcome.await?.and_then(|(outcome, _)| outcome.version))
    }

    /// Creates a build of a plan, without a job, and starts it.
    pub async fn start(&self, one_off: OneOff<'_>) -> Result<Build> {
        let build = self.parts.store.create_one_off(one_off).await?;
        info!(build = %build.id, created_by = build.created_by, "one-off build created");
        self.spawn_driver(build.id);
        Ok(build)
    }

    /// Aborts a build: its steps are stopped.
    pub async fn abort(&self, build: BuildId) -> Result<()> {
        let asked = self.parts.store.request_abort(build).await;
        // On a full disk that cannot be written, but a build that runs here can be stopped, which
        // may make room.
        let is_here = self.parts.running.lock().contains_key(&build);
        match asked {
            Err(error) if error.is_out_of_space() && is_here => {
                warn!(%build, error = %chain(&error), "build aborted, though the database is full");
            }
            asked => asked?,
        }
        if let Some(running) = self.parts.running.lock().get(&build) {
            info!(%build, "build aborted");
            running.cancel.cancel();
        }
        Ok(())
    }

    /// Stops driving. Steps go on by themselves and are followed again after the next start.
    pub async fn shut_down(&self) {
        self.parts.shutdown.cancel();
        self.parts.tasks.close();
        self.parts.tasks.wait().await;
        self.parts.check_ways.close().await;
        self.parts.logs.at_rest().await;
    }

    /// Spawns the task that drives a build to its end, in the trace that triggered it.
    fn spawn_driver(&self, build: BuildId) -> JoinHandle<()> {
        let cancel = CancellationToken::new();
        let running = Running {
            cancel: cancel.clone(),
            counted: false,
        };
        self.parts.running.lock().insert(build, running);
        let engine = self.clone();
        // Part of the trace that triggered it, if there is one.
        let span = airside_telemetry::span!("build", %build, pipeline = Empty, job = Empty, status = Empty);
        if let Some(cause) = self.parts.causes.lock().remove(&build) {
            cause.lead_to(&span);
        }
        let driven = async move {
            let shutdown = engine.parts.shutdown.clone();
            shutdown
                .run_until_cancelled(engine.drive_with_retries(build, cancel))
                .await;
            engine.parts.running.lock().remove(&build);
        };
        self.parts
            .tasks
            .spawn(airside_tasks::named("build", driven).instrument(span))
    }

    fn count_start(&self, build: &Build) {
        let mut running = self.parts.running.lock();
        if let Some(running) = running.get_mut(&build.id)
            && !std::mem::replace(&mut running.counted, true)
        {
            if build.is_check {
                self.parts.metrics.check_started();
            } else {
                self.parts.metrics.build_started();
            }
        }
    }

    /// Drives a build to its end. A panic ends it as errored.
    async fn drive_catching_panics(&self, build: BuildId, cancel: CancellationToken) -> Result<()> {
        let driven = airside_tasks::caught("build", self.drive_with_lease(build, cancel));
        match driven.await {
            Ok(Err(error)) if error.is_panic() => {}
            Ok(driven) => return driven,
            Err(_) => {}
        }
        error!(%build, "build errored: a panic ended it");
        self.end_faulty(build).await
    }

    /// Drives a build to its end. After a failure that may pass it drives on from the store, as a
    /// new process would.
    async fn drive_with_retries(&self, build: BuildId, cancel: CancellationToken) {
        let mut pause = FIRST_PAUSE;
        while let Err(error) = self.drive_catching_panics(build, cancel.clone()).await {
            if !error.is_transient() {
                return error!(
                    %build,
                    error = %chain(&error),
                    "build is stuck until the next start"
                );
            }
            warn!(
                %build,
                error = %chain(&error),
                ?pause,
                "build stands still; it is taken up again"
            );
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_panics_of_blocking_work_end_their_build() {
        let panicked = || airside_tasks::Panicked {
            message: "a fault".to_owned(),
        };
        for error in [
            Error::from(panicked()),
            Error::from(airside_orchestrator::Error::from(panicked())),
        ] {
            assert!(error.is_panic() && !error.is_transient(), "{error:?}");
        }
    }
}
