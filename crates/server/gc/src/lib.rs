//! Removes garbage: rows, logs, volumes, images.
//!
//! ```text
//! store's news ─▶ which kinds are due ─▶ a question for each ─▶ deletions in small batches
//!     slow sweep ─▶      ▲
//!     disk above its mark ─▶ caches, images and kept containers, those unused for longest first
//! ```
//!
//! There is one loop ([`Collector::run`]) and one list of kinds of garbage ([`Kind`]). Pure
//! functions ([`retention`]) and the store's queries decide what is garbage; a lost event delays a
//! collection until the next sweep, and a crash in the middle of one leaves what the next finds
//! again. Nothing here is on the path of a request.
//!
//! **Invariants:** rows go before files, so that no row ever names a file that is not there; files
//! are listed before rows are read, so that what is made in between is not taken for garbage.
//! *Absent:* containers, which the orchestrator sweeps.

mod ballast;
mod emergency;
mod files;
mod kind;
mod pressure;
mod quotas;
mod reap;
pub mod retention;
mod rows;
mod service;

use std::{path::PathBuf, sync::Arc, time::Duration};

use airside_logs::Logs;
use airside_model::Handle;
use airside_store::Store;
use airside_telemetry::metrics::Metrics;
use airside_volumes::Volumes;
use async_trait::async_trait;

pub use kind::Kind;
pub use retention::LogRetention;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Store(#[from] airside_store::Error),
    #[error(transparent)]
    Logs(#[from] airside_logs::Error),
    #[error("cannot list the build logs")]
    List(#[source] std::io::Error),
    #[error(transparent)]
    Volumes(#[from] airside_volumes::Error),
    #[error(transparent)]
    Panicked(#[from] airside_tasks::Panicked),
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Other users of room on this machine's disk.
#[async_trait]
pub trait Workers: Send + Sync {
    /// Removes images from which no container was made for this long and on which none stands; how
    /// many.
    async fn collect_images(&self, unused_for: Duration) -> u64;

    /// Removes the container that was kept longest for people to look inside. `false`: there is
    /// none.
    async fn give_up_kept(&self) -> bool;

    /// The container that takes most of this machine's disk, with its bytes.
    async fn largest_container(&self) -> Option<(Handle, u64)>;

    /// Ends a container and its step without a word to the database; the step's build gets the
    /// reason.
    async fn end_container(&self, handle: &Handle, why: &str) -> bool;

    /// The bytes that a team's images take, where there is a registry.
    async fn registry_use(&self, team: &str) -> u64;
}

/// The rules for what is kept, and for how long.
#[derive(Clone, Debug)]
pub struct Keep {
    pub logs: LogRetention,
    /// Number of reaped builds of one job that stay in lists; `None` keeps all.
    pub reaped_builds: Option<u32>,
    /// Time after which images from which no container was made are removed.
    pub images: Duration,
}

impl Default for Keep {
    fn default() -> Self {
        Self {
            logs: LogRetention::default(),
            reaped_builds: Some(1000),
            images: Duration::from_secs(7 * 24 * 3600),
        }
    }
}

/// The parts of a collector.
pub struct Options {
    pub store: Store,
    pub logs: Logs,
    pub volumes: Volumes,
    pub metrics: Metrics,
    pub workers: Arc<dyn Workers>,
    pub keep: Keep,
    /// A file on the disk of the volumes that is given up when nothing else is left; none: without.
    pub ballast: Option<PathBuf>,
}

/// The collector; clones share its parts.
#[derive(Clone)]
pub struct Collector {
    parts: Arc<Options>,
}

impl Collector {
    pub fn new(options: Options) -> Self {
        Self {
            parts: Arc::new(options),
        }
    }
}
