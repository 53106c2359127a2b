//! Errors of images, as messages for the build's log.

use std::{
    io,
    path::{Path, PathBuf},
};

use airside_oci::BadReference;
use serde::{Deserialize, Serialize};

use crate::Digest;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no image {what}")]
    Missing { what: String },
    #[error("{} is not an OCI image layout: it has no index.json", path.display())]
    NoLayout { path: PathBuf },
    #[error("{what} has no image for {platform}")]
    NoPlatform { what: String, platform: String },
    #[error(transparent)]
    Name(#[from] BadReference),
    #[error("the image is damaged: {what}")]
    Damaged { what: String },
    #[error("the image is damaged: a blob that should be {expected} is sha256:{actual}")]
    Mismatch { expected: Digest, actual: String },
    #[error("the image is damaged: layer {layer} cannot be unpacked: {words}")]
    Layer { layer: Digest, words: String },
    #[error("layer {layer} is of a kind that cannot be unpacked ({media_type})")]
    MediaType { layer: Digest, media_type: String },
    /// The registry was asked as often as made sense.
    #[error("cannot pull {what}: {words}")]
    Pull {
        what: String,
        words: String,
        fault: PullFault,
    },
    /// The registry that the image came from does not give it to the team.
    #[error(
        "{what} is on this machine for others, and its registry does not give it to this team: does the source have \
         the right username and password?"
    )]
    NotYours { what: String },
    /// The process that pulls or unpacks images did not do its work.
    #[error("the confined process for images failed: {words}")]
    Confined { words: String },
    #[error("there is no room for the image on the disk of {}", path.display())]
    DiskFull { path: PathBuf },
    #[error("{}", path.display())]
    Disk {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the image was not finished: the server is stopping")]
    Interrupted,
    #[error(transparent)]
    Panicked(#[from] airside_tasks::Panicked),
}

/// The part of a failed pull that decides; the words beside it are for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PullFault {
    /// The registry has no such image.
    Missing,
    /// The registry does not give the image to the source's user.
    Refused,
    Other,
}

impl PullFault {
    /// Reads the status of the registry's refusal, if it gave one.
    pub(crate) fn from_status(status: Option<u16>) -> Self {
        match status {
            Some(404) => Self::Missing,
            Some(401 | 403) => Self::Refused,
            _ => Self::Other,
        }
    }
}

impl Error {
    pub(crate) fn confined(words: impl std::fmt::Display) -> Self {
        Self::Confined {
            words: words.to_string(),
        }
    }

    pub(crate) fn disk(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Disk {
            path: path.to_owned(),
            source,
        }
    }

    /// Returns true if a later request may succeed.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Disk { .. } | Self::Interrupted)
    }
}
