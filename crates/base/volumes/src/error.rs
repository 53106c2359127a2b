//! Errors of volumes.

use std::{
    io,
    path::{Path, PathBuf},
};

use airside_model::VolumeId;

use crate::{Bytes, Percent};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {action} {}", path.display())]
    Disk {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{id:?} is not a volume id: letters, digits, '-', '_' and '.' only")]
    BadId { id: VolumeId },
    #[error("there is no volume {id}")]
    Missing { id: VolumeId },
    #[error(
        "{} cannot become the volume {}: they are on different file systems; \
         keep containers and volumes under one root",
        dir.display(), store.display()
    )]
    OtherFileSystem { dir: PathBuf, store: PathBuf },
    #[error("the file {path} is larger than {largest} bytes")]
    FileTooLarge { path: String, largest: u64 },
    #[error(
        "the server's disk is nearly full: {free} of {total} are free, and uploads may fill it to {high} only \
         (--disk-high-watermark); try again once room was made"
    )]
    NearlyFull {
        free: Bytes,
        total: Bytes,
        high: Percent,
    },
    #[error("volume {id} cannot be carried")]
    Stream {
        id: VolumeId,
        #[source]
        source: airside_archive::Error,
    },
}

impl Error {
    pub(crate) fn at(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Disk {
            action,
            path: path.to_owned(),
            source,
        }
    }
}
