//! Runs one step on one worker, from the choice of the worker to the committed result.
//!
//! ```text
//! choose worker ─▶ store placement ─▶ place ─▶ follow shim and runtime ─▶ seal outputs ─▶ result
//!      ▲                                              │
//!      └──────── lost before the claim ◀──────────────┘
//! ```
//!
//! **Invariant:** a placement is stored before the runtime is asked for it, and a step that was
//! claimed is placed again only if its kind may repeat.

mod container_ref;
mod ending;
mod files;
mod follow;
mod guests;
mod kept;
mod leaving;
mod output;
mod placing;
mod pulls;
mod quota;
mod request;
mod sweep;
mod workers;

use std::{collections::HashMap, sync::Arc, time::Duration};

use airside_hub::Hub;
use airside_model::{BuildId, Handle, InstallationId, WorkerName};
use airside_runtime::{Capabilities, Condition};
use airside_store::Store;
use airside_telemetry::metrics::Metrics;
use airside_volumes::Volumes;
use guests::Hosts;
use parking_lot::Mutex;

use pulls::Pulls;
use workers::{NoWorker, Wants};

pub use guests::{Asker, GuestEnd, GuestRequest, GuestRun, Host, HostLookup, HostTicket};
pub use kept::Keeping;
pub use output::OutputBounds;
pub use pulls::{ImageGet, PullStatus};
pub use request::{Artifact, ContainerHold, StepEnd, StepOutput, StepRequest, StepResult};
pub use workers::{WorkerEntry, Workers};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Store(#[from] airside_store::Error),
    #[error(transparent)]
    Log(#[from] airside_logs::Error),
    #[error(transparent)]
    Volume(#[from] airside_volumes::Error),
    #[error("worker {worker} still has {handles}; the log says why they could not be removed")]
    Left { worker: WorkerName, handles: String },
    #[error("the worker's runtime failed")]
    Runtime(#[from] airside_runtime::Error),
    #[error(transparent)]
    Panicked(#[from] airside_tasks::Panicked),
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Time limits of steps, and limits on what they print.
#[derive(Clone, Copy, Debug)]
pub struct StepLimits {
    /// Time between SIGTERM and SIGKILL when a step is stopped.
    pub stop_grace: Duration,
    /// A step whose machine and shim are both silent for this long is lost.
    pub lost_after: Duration,
    /// A shim without a hub for this long ends its process.
    pub fence_after: Duration,
    /// Times for which containers stay after their step, for users who want to look inside.
    pub keeping: Keeping,
    pub output: OutputBounds,
}

impl Default for StepLimits {
    fn default() -> Self {
        Self {
            stop_grace: Duration::from_secs(10),
            lost_after: Duration::from_secs(30),
            fence_after: Duration::from_secs(30 * 60),
            keeping: Keeping::default(),
            output: OutputBounds::default(),
        }
    }
}

/// The service that runs steps; clones share its parts.
#[derive(Clone)]
pub struct Orchestrator {
    parts: Arc<Parts>,
}

struct Parts {
    store: Store,
    hub: Hub,
    volumes: Volumes,
    workers: Workers,
    installation: InstallationId,
    patience: StepLimits,
    metrics: Metrics,
    guests: Arc<Hosts>,
    /// Reasons for which containers were ended whose steps had not ended.
    ended: Mutex<HashMap<Handle, String>>,
    /// Lock that is held between a look at a team's quota of containers and the next one's row.
    counting: tokio::sync::Mutex<()>,
    pulls: Pulls,
}

impl Orchestrator {
    pub fn new(
        store: Store,
        hub: Hub,
        volumes: Volumes,
        workers: Workers,
        installation: InstallationId,
        patience: StepLimits,
        metrics: Metrics,
    ) -> Self {
        let parts = Parts {
            store,
            hub,
            volumes,
            workers,
            installation,
            patience,
            metrics,
            guests: Arc::default(),
            ended: Mutex::default(),
            counting: tokio::sync::Mutex::default(),
            pulls: Pulls::default(),
        };
        Self {
            parts: Arc::new(parts),
        }
    }

    /// The workers there are.
    pub fn workers(&self) -> &Workers {
        &self.parts.workers
    }

    /// Announces to a team's workers the images that its build will need; nothing once it has
    /// ended.
    pub fn expect_images(&self, team: &str, build: BuildId, images: &[String]) {
        let entries = self.parts.workers.entries();
        let of_team = |entry: &&WorkerEntry| entry.team.as_deref().is_none_or(|own| own == team);
        for entry in entries.iter().filter(of_team) {
            entry.runtime.expect_images(build, images);
        }
    }

    /// Returns a worker's condition as its runtime reports it.
    pub fn worker_condition(&self, worker: &WorkerName) -> Condition {
        self.parts.workers.condition(worker)
    }

    /// Returns the reason why no worker can run any step; none if one can, or if there is none at
    /// all.
    pub fn obstacle(&self) -> Option<String> {
        self.parts.workers.obstacle()
    }

    /// The worker that is the team's alone, or has a rule that mentions the team by name.
    pub fn worker_naming_team(&self, team: &str) -> Option<WorkerName> {
        let workers = self.parts.workers.entries();
        let naming = workers
            .iter()
            .find(|worker| worker.team.as_deref() == Some(team) || worker.runtime.names_team(team));
        naming.map(|worker| worker.runtime.worker().clone())
    }

    /// The worker that a step of this team with these tags would be put on now.
    pub fn worker_for(&self, team: &str, tags: &[String]) -> Option<WorkerName> {
        let chosen = self.parts.workers.choose(&Wants::plain(team, tags)).ok()?;
        Some(chosen.runtime.worker().clone())
    }

    /// Returns the worker for such a step as soon as one takes steps; none if there is no worker
    /// for it.
    pub async fn worker_when_back(&self, team: &str, tags: &[String]) -> Option<WorkerName> {
        let workers = &self.parts.workers;
        let mut changes = workers.states().changes();
        loop {
            changes.mark_unchanged();
            match workers.choose(&Wants::plain(team, tags)) {
                Ok(chosen) => return Some(chosen.runtime.worker().clone()),
                Err(NoWorker::Nowhere(_)) => return None,
                Err(NoWorker::Away(_)) => changes.changed().await.ok()?,
            }
        }
    }

    /// Returns the capabilities of a worker's runtime.
    pub fn capabilities(&self, worker: &WorkerName) -> Option<Capabilities> {
        let entry = self.parts.workers.get(worker)?;
        Some(entry.runtime.capabilities())
    }

    /// Returns true if a step with these tags may come to a worker whose nodes pull images by
    /// themselves, whatever workers take steps now.
    pub fn may_pull_images(&self, team: &str, tags: &[String]) -> bool {
        self.parts.workers.may_pull_images(team, tags)
    }

    /// Returns true if all workers for such steps leave pulling images to their nodes.
    pub fn only_nodes_pull(&self, team: &str, tags: &[String]) -> bool {
        self.parts.workers.only_nodes_pull(team, tags)
    }

    /// Returns the trust in the worker that a step would be put on now. Artifacts that were fetched
    /// on a worker of another trust are not for it.
    pub fn trust_for(&self, request: &StepRequest) -> Option<String> {
        let chosen = self.parts.workers.choose(&Wants::of(request)).ok()?;
        Some(self.parts.workers.trust(&chosen))
    }

    /// The trust in a worker.
    pub fn trust_of(&self, worker: &WorkerName) -> Option<String> {
        let entry = self.parts.workers.get(worker)?;
        Some(self.parts.workers.trust(&entry))
    }

    /// Returns true if such a step would have to wait, because the workers for it take none now.
    pub fn would_wait(&self, team: &str, tags: &[String]) -> bool {
        let chosen = self.parts.workers.choose(&Wants::plain(team, tags));
        matches!(chosen, Err(NoWorker::Away(_)))
    }
}
