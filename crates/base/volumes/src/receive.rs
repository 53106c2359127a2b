//! A volume on its way in.

use std::{
    io::Read,
    path::{Path, PathBuf},
    sync::atomic::Ordering,
};

use airside_archive::Limits;
use airside_model::{VolumeId, chain};

use crate::{Error, Volumes};

/// Takes a packed stream, then waits for the caller's word: [`Receiving::commit`] once the hash was
/// found right. Dropped without it, nothing remains.
#[derive(Debug)]
pub struct Receiving {
    volumes: Volumes,
    id: VolumeId,
    dir: PathBuf,
}

impl Receiving {
    pub(crate) fn new(volumes: Volumes, id: VolumeId, dir: PathBuf) -> Self {
        volumes.inner.receiving.fetch_add(1, Ordering::Relaxed);
        Self { volumes, id, dir }
    }

    pub(crate) fn id(&self) -> &VolumeId {
        &self.id
    }

    /// The folder that will be sealed, for trees that are written in place instead of unpacked.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Unpacks a stream, reading it to its end.
    pub fn unpack(&self, input: impl Read, limits: &Limits) -> Result<(), Error> {
        airside_archive::unpack(input, &self.dir, limits).map_err(|source| Error::Stream {
            id: self.id.clone(),
            source,
        })
    }

    pub fn commit(self) -> Result<(), Error> {
        self.volumes.adopt(&self.dir, &self.id)
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        self.volumes.inner.receiving.fetch_sub(1, Ordering::Relaxed);
        // After a commit there is nothing left to remove.
        if let Err(error) = self.volumes.discard(&self.dir) {
            tracing::warn!(volume = %self.id, error = %chain(&error), "unfinished volume not removed");
        }
    }
}
