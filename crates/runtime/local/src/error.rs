//! Errors of this machine, as messages for the build's log.

use std::{
    io,
    path::{Path, PathBuf},
};

use airside_model::{Handle, VolumeId, WorkerName, chain};
use airside_rootfs::PullFault;
use airside_runtime::Cause;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}", path.display())]
    Disk {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{name:?} cannot be part of a path")]
    BadName { name: String },
    #[error("the container {handle} exists already, and was made from another specification")]
    Different { handle: Handle },
    #[error("the container {handle} belongs to another installation")]
    Foreign { handle: Handle },
    #[error("the container {handle} does not exist")]
    NoContainer { handle: Handle },
    #[error("{path:?} is not an output of the container {handle}")]
    NoOutput { handle: Handle, path: String },
    #[error("the input {path:?} needs the volume {volume}, which this machine does not have")]
    NoVolume { path: String, volume: VolumeId },
    #[error(
        "the volume {volume} is not an image: it has no folder `rootfs`. An image artifact comes from a get \
         of an image, or from a task that makes one in rootfs format"
    )]
    NoRootfs { volume: VolumeId },
    #[error("{path:?} cannot be mounted: mounts need an absolute path below /, without '..'")]
    BadMount { path: String },
    #[error(
        "steps on this machine need root, or an ordinary user with what root would have: {0}. Steps can also go to a \
         Kubernetes target"
    )]
    NotRoot(crate::Obstacle),
    #[error(
        "the data folder {} is on overlayfs, on which the kernel lets no container stand: give one on another file \
         system with --data (in a container, a volume), or, for `airside run`, with TMPDIR. Steps can also go to a \
         Kubernetes target",
        path.display()
    )]
    OnOverlay { path: PathBuf },
    #[error(
        "the kernel makes no overlay of folders in {}, and every step has its root from one: load overlayfs with \
         `modprobe overlay`, or boot a kernel that has it. Steps can also go to a Kubernetes target",
        path.display()
    )]
    NoOverlay {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the container could not be made: {message}")]
    Helper { message: String },
    #[error("the container {handle} does not end after it was killed")]
    Undead { handle: Handle },
    #[error(transparent)]
    Image(#[from] airside_rootfs::Error),
    #[error(transparent)]
    Volume(#[from] airside_volumes::Error),
    #[error("an input cannot be copied")]
    Tree(#[from] airside_archive::Error),
    #[error(transparent)]
    Panicked(#[from] airside_tasks::Panicked),
}

impl Error {
    pub(crate) fn disk(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Disk {
            path: path.to_owned(),
            source,
        }
    }

    /// Converts to the contract's error. Only what a later attempt may find changed is unavailable.
    pub(crate) fn into_runtime(self, worker: &WorkerName) -> airside_runtime::Error {
        let temporary = match &self {
            Self::Image(image) => image.is_temporary(),
            Self::Undead { .. } => true,
            _ => false,
        };
        let (message, cause) = (chain(&self), self.cause());
        if temporary {
            airside_runtime::Error::Unavailable {
                worker: worker.clone(),
                message,
                cause,
            }
        } else {
            airside_runtime::Error::Refused { message, cause }
        }
    }

    fn cause(&self) -> Cause {
        use airside_rootfs::Error::{Missing, NoLayout, NoPlatform, NotYours, Pull};
        match self {
            Self::Image(Missing { .. } | NoLayout { .. } | NoPlatform { .. })
            | Self::NoRootfs { .. } => Cause::ImageMissing,
            Self::Image(NotYours { .. }) => Cause::ImageRefused,
            Self::Image(Pull { fault, .. }) => match fault {
                PullFault::Missing => Cause::ImageMissing,
                PullFault::Refused => Cause::ImageRefused,
                PullFault::Other => Cause::Other,
            },
            Self::Helper { .. } => Cause::CannotStart,
            _ => Cause::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_panics_refuse_a_step_and_are_not_tried_again() {
        let worker = WorkerName::new("local");
        let panicked = || airside_tasks::Panicked {
            message: "a fault".to_owned(),
        };
        for error in [
            Error::from(panicked()),
            Error::Image(airside_rootfs::Error::from(panicked())),
        ] {
            let told = error.into_runtime(&worker);
            assert!(
                matches!(told, airside_runtime::Error::Refused { .. }),
                "{told:?}"
            );
        }
    }
}
