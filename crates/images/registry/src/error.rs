//! Errors of the registry: messages for people, and the specification's codes for clients.

use std::{
    io,
    path::{Path, PathBuf},
};

use airside_oci::{BadDigest, BadRepositoryName, BadTag, BadTagOrDigest, Digest, OutsideRange};
use http::StatusCode;

use crate::{RepositoryAccess, RepositoryName};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Name(#[from] BadRepositoryName),
    #[error("{0:?} is not a scope such as repository:NAME:pull")]
    Scope(String),
    #[error(transparent)]
    Tag(#[from] BadTag),
    #[error(transparent)]
    Digest(#[from] BadDigest),
    #[error("there is no such endpoint")]
    Endpoint,
    #[error("a token is needed; log in with one as the password")]
    NoToken,
    #[error("the token is not valid, or no longer")]
    BadToken,
    #[error("the token does not allow to {0} {1}")]
    Denied(RepositoryAccess, RepositoryName),
    #[error("there is no repository {0}")]
    NoRepository(RepositoryName),
    #[error("there is no blob {1} in {0}")]
    NoBlob(RepositoryName, Digest),
    #[error("there is no manifest {1} in {0}")]
    NoManifest(RepositoryName, String),
    #[error("the manifest names {1}, which is not in {0}; push that first")]
    Dangling(RepositoryName, Digest),
    #[error("the manifest cannot be used: {0}")]
    Manifest(String),
    #[error("the manifest is larger than {0} bytes")]
    TooLarge(usize),
    #[error("there is no such upload; begin it again")]
    NoUpload,
    #[error("too many uploads at once; try again later")]
    Busy,
    #[error("the upload has {has} bytes, and this piece does not begin there")]
    Piece { has: u64 },
    #[error("what was sent is sha256:{actual}, not {expected}")]
    Mismatch { expected: Digest, actual: String },
    #[error("the content ended before it was whole: {0}")]
    Cut(String),
    #[error("only one part of a blob of {size} bytes can be asked for, and within it")]
    Range { size: u64 },
    #[error("the registry does not support this request")]
    Unsupported,
    #[error("the server's disk is nearly full; try again once room was made")]
    DiskFull,
    #[error(transparent)]
    Quota(Box<airside_model::QuotaExceeded>),
    #[error("{0} holds no root file system: there is no folder `rootfs` in it")]
    NoRootfs(String),
    #[error("the artifact cannot be made an image")]
    Pack(#[source] airside_archive::Error),
    #[error("it was not finished: the server is stopping")]
    Interrupted,
    #[error("cannot {doing} {}", path.display())]
    Disk {
        doing: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl From<BadTagOrDigest> for Error {
    fn from(error: BadTagOrDigest) -> Self {
        match error {
            BadTagOrDigest::Tag(bad) => Self::Tag(bad),
            BadTagOrDigest::Digest(bad) => Self::Digest(bad),
        }
    }
}

impl From<OutsideRange> for Error {
    fn from(error: OutsideRange) -> Self {
        Self::Range { size: error.size }
    }
}

impl Error {
    pub(crate) fn at(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Disk {
            doing,
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::NoToken | Self::BadToken => StatusCode::UNAUTHORIZED,
            Self::Denied(..) | Self::Quota(_) => StatusCode::FORBIDDEN,
            Self::Endpoint
            | Self::NoRepository(_)
            | Self::NoBlob(..)
            | Self::NoManifest(..)
            | Self::NoUpload => StatusCode::NOT_FOUND,
            Self::Busy => StatusCode::TOO_MANY_REQUESTS,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Piece { .. } | Self::Range { .. } => StatusCode::RANGE_NOT_SATISFIABLE,
            Self::Unsupported => StatusCode::METHOD_NOT_ALLOWED,
            Self::DiskFull => StatusCode::INSUFFICIENT_STORAGE,
            Self::Pack(_) | Self::Interrupted | Self::Disk { .. } => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
            Self::Name(_)
            | Self::Scope(_)
            | Self::Tag(_)
            | Self::Digest(_)
            | Self::Dangling(..)
            | Self::Manifest(_)
            | Self::Mismatch { .. }
            | Self::Cut(_)
            | Self::NoRootfs(_) => StatusCode::BAD_REQUEST,
        }
    }

    /// Returns the specification's code.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Name(_) | Self::Scope(_) => "NAME_INVALID",
            Self::NoRepository(_) | Self::Endpoint => "NAME_UNKNOWN",
            Self::Digest(_) | Self::Mismatch { .. } => "DIGEST_INVALID",
            Self::NoToken | Self::BadToken => "UNAUTHORIZED",
            Self::Denied(..) | Self::Quota(_) => "DENIED",
            Self::NoBlob(..) => "BLOB_UNKNOWN",
            Self::NoManifest(..) => "MANIFEST_UNKNOWN",
            Self::Dangling(..) => "MANIFEST_BLOB_UNKNOWN",
            Self::Tag(_) | Self::Manifest(_) | Self::NoRootfs(_) => "MANIFEST_INVALID",
            Self::TooLarge(_) => "SIZE_INVALID",
            Self::NoUpload => "BLOB_UPLOAD_UNKNOWN",
            Self::Piece { .. } | Self::Cut(_) | Self::Range { .. } => "BLOB_UPLOAD_INVALID",
            Self::Busy => "TOOMANYREQUESTS",
            Self::Unsupported => "UNSUPPORTED",
            Self::DiskFull | Self::Pack(_) | Self::Interrupted | Self::Disk { .. } => "UNKNOWN",
        }
    }

    /// Returns true if the fault is the server's own, whose details no client may read.
    pub(crate) fn is_internal(&self) -> bool {
        self.status() == StatusCode::INTERNAL_SERVER_ERROR
    }
}
