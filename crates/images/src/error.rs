//! What can go wrong with an image, in words for the build's log.

use std::{
    io,
    path::{Path, PathBuf},
};

use airside_model::image::BadDigest;

use crate::Digest;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no image {what}")]
    Missing { what: String },
    #[error("{} is no OCI image layout: it has no index.json", path.display())]
    NoLayout { path: PathBuf },
    #[error("{what} has no image for {platform}")]
    NoPlatform { what: String, platform: String },
    #[error("the image is damaged: {what}")]
    Damaged { what: String },
    #[error("the image is damaged: a blob that should be {expected} is sha256:{actual}")]
    Mismatch { expected: Digest, actual: String },
    #[error("the image is damaged: layer {layer} cannot be unpacked")]
    Layer {
        layer: Digest,
        #[source]
        source: airside_tree::Error,
    },
    #[error("layer {layer} is of a kind that cannot be unpacked ({media_type})")]
    MediaType { layer: Digest, media_type: String },
    /// The registry was asked as often as made sense.
    #[error("cannot pull {what}: {failure}")]
    Pull {
        what: String,
        failure: airside_resources::Failure,
    },
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
}

impl From<BadDigest> for Error {
    fn from(error: BadDigest) -> Self {
        Self::Damaged {
            what: error.to_string(),
        }
    }
}

impl Error {
    pub(crate) fn disk(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Disk {
            path: path.to_owned(),
            source,
        }
    }

    /// Whether asking again later may work.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Disk { .. } | Self::Interrupted)
    }
}
