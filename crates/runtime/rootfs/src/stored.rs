//! The images of a store with their sizes, for those who bound it.

use std::{
    fs, io,
    path::Path,
    time::{Duration, SystemTime},
};

use crate::{Digest, Error, Images, assemble::KEPT};

/// The file with the bytes of an image's files, which never change.
const SIZE: &str = "size";

/// An image of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredImage {
    pub digest: Digest,
    /// The time at which it was last asked for.
    pub used: SystemTime,
    pub bytes: u64,
}

impl Images {
    /// Lists all images. Each is measured once. Blocks.
    pub fn stored(&self) -> Result<Vec<StoredImage>, Error> {
        let mut stored = Vec::new();
        for digest in self.idle(Duration::ZERO)? {
            let place = self.place(&digest);
            match measure(&place) {
                Ok((used, bytes)) => stored.push(StoredImage {
                    digest,
                    used,
                    bytes,
                }),
                // Another process has just removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::disk(&place)(error)),
            }
        }
        Ok(stored)
    }
}

fn measure(place: &Path) -> io::Result<(SystemTime, u64)> {
    let used = match fs::metadata(place.join(KEPT)) {
        Ok(file) => file.modified()?,
        // An image without its file is the first to go.
        Err(error) if error.kind() == io::ErrorKind::NotFound => SystemTime::UNIX_EPOCH,
        Err(error) => return Err(error),
    };
    let path = place.join(SIZE);
    let known = fs::read_to_string(&path).ok();
    if let Some(bytes) = known.and_then(|text| text.parse().ok()) {
        return Ok((used, bytes));
    }
    let bytes = airside_volumes::size_of(place)?;
    // It is measured again if this cannot be kept.
    let _ = fs::write(&path, bytes.to_string());
    Ok((used, bytes))
}
