//! Images that no step uses.

use std::{
    fs::{self, File},
    io,
    path::Path,
    sync::{Arc, PoisonError},
    time::{Duration, SystemTime},
};

use crate::{Digest, Error, Images, assemble::KEPT};

/// A lease of an image: it is not removed while a clone of it lives. In a store that several
/// processes share it holds the image's file, which the others see.
#[derive(Clone, Debug, Default)]
pub struct Lease(Arc<Option<File>>);

impl PartialEq for Lease {
    /// The lease says nothing about the image, so all are equal.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Lease {}

impl Lease {
    /// Returns true if only the list itself has the lease.
    fn is_free(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

/// Notes that the image was asked for now.
#[expect(
    clippy::disallowed_methods,
    reason = "the time of a file, which is only ever compared with others of this disk"
)]
pub(crate) fn touch(path: &Path) -> Result<(), Error> {
    let file = File::options().append(true).open(path);
    file.and_then(|file| file.set_modified(SystemTime::now()))
        .map_err(Error::disk(path))
}

impl Images {
    /// Takes a lease of the image. `None` if the store is shared and has no such image.
    pub(crate) fn lease(&self, digest: &Digest) -> Result<Option<Lease>, Error> {
        let mut leases = self.leases();
        leases.retain(|_, lease| !lease.is_free());
        if let Some(known) = leases.get(digest) {
            return Ok(Some(known.clone()));
        }
        let lease = if self.is_shared() {
            let path = self.place(digest).join(KEPT);
            match airside_volumes::hold(&path).map_err(Error::disk(&path))? {
                Some(file) => Lease(Arc::new(Some(file))),
                None => return Ok(None),
            }
        } else {
            Lease::default()
        };
        leases.insert(digest.clone(), lease.clone());
        Ok(Some(lease))
    }

    fn leases(&self) -> std::sync::MutexGuard<'_, std::collections::HashMap<Digest, Lease>> {
        self.inner
            .leases
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the images that were not asked for within this time, the longest unused first.
    pub fn idle(&self, unused_for: Duration) -> Result<Vec<Digest>, Error> {
        let folder = &self.inner.images;
        let mut idle = Vec::new();
        for entry in fs::read_dir(folder).map_err(Error::disk(folder))? {
            let path = entry.map_err(Error::disk(folder))?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let Some(digest) = name.and_then(|hex| Digest::parse(&format!("sha256:{hex}")).ok())
            else {
                continue;
            };
            // Without it the image is of no use.
            let used = fs::metadata(path.join(KEPT)).and_then(|file| file.modified());
            let used = used.unwrap_or(SystemTime::UNIX_EPOCH);
            if used.elapsed().is_ok_and(|unused| unused >= unused_for) {
                idle.push((used, digest));
            }
        }
        idle.sort_by_key(|(used, _)| *used);
        Ok(idle.into_iter().map(|(_, digest)| digest).collect())
    }

    /// Removes an image, unless it is in use. Blocks.
    pub fn remove(&self, digest: &Digest) -> Result<bool, Error> {
        let away = {
            // A request for it that comes now waits, and then makes it anew.
            let mut leases = self.leases();
            leases.retain(|_, lease| !lease.is_free());
            if leases.contains_key(digest) {
                return Ok(false);
            }
            let place = self.place(digest);
            let unheld = airside_volumes::take_unheld(&place.join(KEPT));
            // Without its file an image is of no use.
            let is_free = unheld.map_err(Error::disk(&place))?;
            if is_free.is_none() && place.join(KEPT).exists() {
                return Ok(false);
            }
            let away = self.fresh()?;
            match fs::rename(&place, away.0.join("image")) {
                Ok(()) => away,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(Error::disk(&place)(error)),
            }
        };
        drop(away);
        tracing::info!(image = %digest, "unused image removed");
        Ok(true)
    }
}
