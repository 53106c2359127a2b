//! The contract of a runtime, which *places* a shim somewhere and later removes it.
//!
//! Everything hard about running a step (terminals, signals, exit status, inputs, outputs) happens
//! in the shim and the hub, so a runtime stays small: it turns a [`PlacementSpec`] into a container
//! or a pod whose first process is the shim, reports what it observes of it, lists what is there,
//! and removes it. All four verbs are idempotent.

mod board;
mod cause;
mod condition;
mod observation;
mod spec;

use std::{sync::Arc, time::Duration};

use airside_model::{BuildId, Handle, VolumeId, WorkerName};
use async_trait::async_trait;
use futures::stream::BoxStream;
use tokio::sync::watch;

pub use board::Board;
pub use cause::{Cause, Shortage, cause_from_peer};
pub use condition::{Condition, Lack, Shape};
pub use observation::{Observation, Observed};
pub use spec::{ClaimEnvironment, Image, Mount, MountAccess, PlacementSpec, PullSource};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A later request may succeed: the API server is away, a quota is exhausted.
    #[error("{worker}: {message}")]
    Unavailable {
        worker: WorkerName,
        message: String,
        cause: Cause,
    },
    /// No later request will succeed: the image does not exist, the namespace forbids the pod.
    #[error("{message}")]
    Refused { message: String, cause: Cause },
}

impl Error {
    /// Returns an error that may pass, of no cause that decides anything.
    pub fn unavailable(worker: &WorkerName, message: impl Into<String>) -> Self {
        Self::Unavailable {
            worker: worker.clone(),
            message: message.into(),
            cause: Cause::Other,
        }
    }

    /// Returns an error that lasts, of no cause that decides anything.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::Refused {
            message: message.into(),
            cause: Cause::Other,
        }
    }
}

/// Properties of a runtime that its users must know.
#[derive(Clone, Copy, Debug)]
pub struct Capabilities {
    /// The runtime mounts inputs and seals outputs by itself; otherwise the shim streams them.
    pub mounts_volumes: bool,
    /// A step whose machine and shim are both silent for this long is lost.
    pub lost_after: Duration,
    /// There is something behind [`Image::Host`].
    pub has_host_image: bool,
    /// An image that has a digest is pulled where the step runs, from its own registry, and is kept
    /// there.
    pub pulls_images: bool,
    /// Time for which a shim may be without the hub before it ends its process; absent for the
    /// server's own.
    pub fence_after: Option<Duration>,
}

/// A runtime's limits on containers that stay after their step. The server's own limits stand for
/// absent ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeptLimits {
    /// Number of kept containers at once.
    pub most: Option<usize>,
    /// Time for which containers stay after a build that did not succeed.
    pub stay: Option<Duration>,
    /// Time without use after which a container is to [`Runtime::shrink`]. Absent: never.
    pub shrink_after: Option<Duration>,
}

/// One thing that the runtime has, for the sweeper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub handle: Handle,
    /// The runtime's own name for this incarnation (a pod's UID), if it has one.
    pub uid: Option<String>,
    /// The container was ended, and is not gone yet.
    pub leaving: bool,
}

#[async_trait]
pub trait Runtime: Send + Sync + 'static {
    fn worker(&self) -> &WorkerName;

    fn capabilities(&self) -> Capabilities;

    /// Returns true if a rule for its steps mentions the team by name.
    fn names_team(&self, _team: &str) -> bool {
        false
    }

    /// Returns the worker's condition, now and from now on; none for a runtime that is always well.
    fn condition(&self) -> Option<watch::Receiver<Condition>> {
        None
    }

    /// Makes the container or pod, or adopts the one that an earlier call with this handle made.
    /// Returns once it has been asked for, not once it runs. The uid is the runtime's own name for
    /// the incarnation, if it has one.
    async fn place(&self, spec: &PlacementSpec) -> Result<Option<String>, Error>;

    /// Returns the observations of the runtime's containers, beginning with the current ones. Each
    /// call gives an independent stream; all of them share one watch.
    fn observe(&self) -> BoxStream<'static, Observation>;

    /// Removes the container or pod; gone already is fine.
    async fn destroy(&self, handle: &Handle) -> Result<(), Error>;

    /// Everything of this installation that is really there.
    async fn list(&self) -> Result<Vec<Listed>, Error>;

    /// Makes the output at `path` a sealed volume. Only where `mounts_volumes`; the process has
    /// ended. Sealing what is sealed already is fine.
    async fn seal(&self, handle: &Handle, path: &str, volume: &VolumeId) -> Result<(), Error>;

    /// Returns the limits on containers that stay after their step.
    fn kept(&self) -> KeptLimits {
        KeptLimits::default()
    }

    /// Gives back what a container has reserved and an idle one does not need. Doing it twice is
    /// fine, as is a container that is no longer there.
    async fn shrink(&self, _handle: &Handle) -> Result<(), Error> {
        Ok(())
    }

    /// Marks a container in the cluster as one that only stays for people, so that others can tell
    /// it from one that works and may remove it. Doing it twice is fine, as is a container that is
    /// no longer there.
    async fn mark_kept(&self, _handle: &Handle) -> Result<(), Error> {
        Ok(())
    }

    /// Makes room for a step that waits because of this shortage, and returns those containers of
    /// `kept` that must go for it: none, if their end would not help. The oldest of `kept` comes
    /// first.
    async fn make_room(
        &self,
        _spec: &PlacementSpec,
        _shortage: &Shortage,
        _kept: &[Handle],
    ) -> Result<Vec<Handle>, Error> {
        Ok(Vec::new())
    }

    /// Asks the runtime to look again: a step could not go here because of a lack that an
    /// administrator may have mended.
    fn doubt(&self) {}

    /// Returns the container that takes most of the server's own disk, with its bytes. Only for a
    /// runtime on that disk.
    async fn largest(&self) -> Result<Option<(Handle, u64)>, Error> {
        Ok(None)
    }

    /// Takes a hint: names of images that steps of a build may use here; none once it has ended.
    /// Nothing waits for its effect.
    fn expect_images(&self, _build: BuildId, _images: &[String]) {}

    /// Removes what the runtime has made for its containers and none of them uses any more.
    async fn tidy(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Removes images that no container uses and from which none was made for this time; returns
    /// their number. Only for a runtime that keeps images on the server's own disk.
    async fn collect_images(&self, _unused_for: Duration) -> Result<u64, Error> {
        Ok(0)
    }
}

pub type AnyRuntime = Arc<dyn Runtime>;
