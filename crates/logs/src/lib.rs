//! Build output on disk, outside the database.
//!
//! Each build has a folder of append-only *segments*. An event gets its id, reaches followers and may
//! be acknowledged only once it is durable. Every entry carries a *key* and a *position* (for output:
//! how far into the step's bytes it reaches), so that a server that resumes a build knows what is
//! already written and neither loses nor repeats any of it.
//!
//! ```text
//! writer ── append ──▶ segment ──▶ followers (woken, then read the same file)
//!                         └─ full or closed ──▶ compressed segment
//! ```
//!
//! A writer belongs to an epoch of the build's lease. A newer epoch writes segments of its own, and
//! readers stop in an older one where the newer begins.

mod follow;
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

pub use follow::Entry;
pub use writer::LogWriter;

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

/// How much of a build's log is there to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Progress {
    durable: u64,
    closed: bool,
}

/// The log store; clones share it.
#[derive(Clone)]
pub struct Logs {
    inner: Arc<Inner>,
}

struct Inner {
    root: PathBuf,
    live: Mutex<HashMap<BuildId, watch::Sender<Progress>>>,
}

impl Logs {
    pub fn open(root: &Path) -> std::io::Result<Self> {
        std::fs::create_dir_all(root)?;
        let inner = Inner {
            root: root.to_owned(),
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

    /// Deletes a build's log.
    pub async fn remove(&self, build: BuildId) -> Result<()> {
        self.inner.live.lock().remove(&build);
        match tokio::fs::remove_dir_all(self.folder(build)).await {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::Io {
                build,
                action: "removed",
                source: error,
            }),
            _ => Ok(()),
        }
    }

    fn folder(&self, build: BuildId) -> PathBuf {
        self.inner.root.join(build.to_string())
    }

    /// The channel on which a build's progress is told. Builds without a writer have one too:
    /// followers may come first.
    fn progress(&self, build: BuildId) -> watch::Sender<Progress> {
        let mut live = self.inner.live.lock();
        if let Some(sender) = live.get(&build) {
            return sender.clone();
        }
        live.retain(|_, sender| sender.receiver_count() > 0 || !sender.borrow().closed);
        let closed = segment::is_closed(&self.folder(build));
        let durable = if closed { u64::MAX } else { 0 };
        let sender = watch::Sender::new(Progress { durable, closed });
        live.insert(build, sender.clone());
        sender
    }
}
