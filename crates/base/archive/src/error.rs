//! Errors of a tree or its stream.

use std::{io, path::PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("read the stream")]
    Read(#[source] io::Error),
    #[error("write the stream")]
    Write(#[source] io::Error),
    #[error("{}", path.display())]
    Path {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the archive is damaged: {0}")]
    Damaged(String),
    #[error("the archive holds {name:?}, which points outside of its root")]
    Escapes { name: String },
    #[error(
        "the archive holds the hard link {name:?} to something that is not an earlier file of it"
    )]
    ForeignLink { name: String },
    #[error("the archive holds the device node {name:?}; devices cannot be carried in a volume")]
    Device { name: String },
    #[error("the archive holds {name:?} of a kind that cannot be unpacked ({kind})")]
    Unsupported { name: String, kind: String },
    #[error("the archive holds more than {limit} bytes")]
    TooManyBytes { limit: u64 },
    #[error("the archive holds more than {limit} entries")]
    TooManyEntries { limit: u64 },
    #[error("{} changed while it was packed", path.display())]
    Changed { path: PathBuf },
}

impl Error {
    /// There is no room for it on this disk; nothing is wrong with the archive.
    pub fn is_disk_full(&self) -> bool {
        let full = |source: &io::Error| {
            matches!(
                source.kind(),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
            )
        };
        match self {
            Self::Path { source, .. } | Self::Write(source) => full(source),
            _ => false,
        }
    }

    pub(crate) fn at(path: impl Into<PathBuf>, source: impl Into<io::Error>) -> Self {
        Self::Path {
            path: path.into(),
            source: source.into(),
        }
    }

    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged(what.into())
    }
}
