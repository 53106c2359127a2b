//! Build output on disk, outside the database.
//!
//! Each build has a folder of append-only *segments*. An event gets its id, reaches followers and
//! may be acknowledged only once it is durable. Every entry carries a *key* and a *position* (for
//! output: how far into the step's bytes it reaches), so that a server that resumes a build knows
//! what is already written and neither loses nor repeats any of it.
//!
//! ```text
//! writer ── append ──▶ segment ──▶ followers (woken, then given the same bytes)
//!                         └─ closed, or long ago ──▶ compressed segment
//! ```
//!
//! Events that are not output stand in an `outline` once more, for readers of a build's steps.
//!
//! A follower that keeps up gets what was written from memory; others read the file.
//!
//! A writer belongs to an epoch of the build's lease. A newer epoch writes segments of its own, and
//! readers stop in an older one where the newer begins.

mod entry;
mod files;
mod follow;
mod outline;
mod recent;
mod segment;
mod writer;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use airside_model::BuildId;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

pub use entry::{Envelope, LogEntry};
pub use files::LogReader;
pub use writer::LogWriter;

use recent::Recent;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the log of build {build} cannot be {action}")]
    Io {
        build: BuildId,
        action: &'static str,
        source: std::io::Error,
    },
    #[error("the log of build {build} is closed")]
    Closed { build: BuildId },
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The part of a build's log that can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Progress {
    durable: u64,
    closed: bool,
}

/// The part of a build's log that is there now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogExtent {
    /// Entries before this one are durable; the largest number if the log is closed.
    pub durable: u64,
    /// Nothing more will come.
    pub closed: bool,
}

/// State that writers and followers of one log share.
#[derive(Clone)]
struct Live {
    progress: watch::Sender<Progress>,
    recent: Arc<Mutex<Recent>>,
}

/// The log store; clones share it.
#[derive(Clone)]
pub struct Logs {
    inner: Arc<Inner>,
}

struct Inner {
    root: PathBuf,
    /// Segments that are being compressed after their log was closed.
    compressing: TaskTracker,
    live: Mutex<HashMap<BuildId, Live>>,
}

impl Logs {
    pub fn open(root: &Path) -> std::io::Result<Self> {
        std::fs::create_dir_all(root)?;
        let inner = Inner {
            root: root.to_owned(),
            compressing: TaskTracker::new(),
            live: Mutex::default(),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Every build that has a log.
    pub async fn list(&self) -> std::io::Result<Vec<BuildId>> {
        let mut builds = Vec::new();
        let mut folders = tokio::fs::read_dir(&self.inner.root).await?;
        while let Some(folder) = folders.next_entry().await? {
            let number = folder
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok());
            builds.extend(number.map(BuildId));
        }
        Ok(builds)
    }

    /// Returns when no closed log is being compressed any more; for a caller that removes all of
    /// them.
    pub async fn at_rest(&self) {
        self.inner.compressing.close();
        self.inner.compressing.wait().await;
    }

    /// Deletes a build's log, also while its segments are being compressed.
    pub async fn remove(&self, build: BuildId) -> Result<()> {
        self.inner.live.lock().remove(&build);
        let folder = self.folder(build);
        let removed = writer::blocking(move || segment::remove_all(&folder)).await;
        removed.map_err(|source| Error::Io {
            build,
            action: "removed",
            source,
        })
    }

    /// Returns how much of a log is there. Looks at the disk unless the log is being written or
    /// followed.
    pub fn extent(&self, build: BuildId) -> LogExtent {
        let live = self.inner.live.lock().get(&build).cloned();
        let progress = match live {
            Some(live) => *live.progress.borrow(),
            None => self.progress(build),
        };
        let durable = if progress.closed {
            u64::MAX
        } else {
            progress.durable
        };
        LogExtent {
            durable,
            closed: progress.closed,
        }
    }

    /// Returns the progress of a log that nothing in this process writes.
    fn progress(&self, build: BuildId) -> Progress {
        let closed = segment::is_closed(&self.folder(build));
        let durable = if closed { u64::MAX } else { 0 };
        Progress { durable, closed }
    }

    fn folder(&self, build: BuildId) -> PathBuf {
        self.inner.root.join(build.to_string())
    }

    /// Returns the channel of a build's progress. Builds without a writer have one too: followers
    /// may come first.
    fn live(&self, build: BuildId) -> Live {
        let mut all = self.inner.live.lock();
        if let Some(live) = all.get(&build) {
            return live.clone();
        }
        all.retain(|_, live| live.progress.receiver_count() > 0 || !live.progress.borrow().closed);
        let live = Live {
            progress: watch::Sender::new(self.progress(build)),
            recent: Arc::default(),
        };
        all.insert(build, live.clone());
        live
    }
}
