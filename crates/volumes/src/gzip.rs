//! Volumes as gzipped tars, which is how `fly` carries them.

use std::io::{self, BufWriter, Read, Write};

use airside_model::VolumeId;
use airside_tree::Limits;
use flate2::bufread::GzDecoder;

use crate::{Error, Receiving, Volumes, fast_gzip::FastGzip};

/// Large enough that whoever is at the other end is not woken for every header.
const BUFFER: usize = 256 * 1024;

/// Of a disk, this part is not for uploads: builds need room, too.
const RESERVE: u64 = 20;

impl Volumes {
    /// Writes the volume as a gzipped tar, fast rather than small.
    pub fn send_gzip(&self, id: &VolumeId, out: impl Write) -> Result<(), Error> {
        let path = self
            .path(id)
            .ok_or_else(|| Error::Missing { id: id.clone() })?;
        let stream = |source| Error::Stream {
            id: id.clone(),
            source,
        };
        let out = BufWriter::with_capacity(BUFFER, out);
        let failed = |error| stream(airside_tree::Error::Write(error));
        let mut encoder = FastGzip::new(out).map_err(failed)?;
        airside_tree::pack_plain(&path, &mut encoder).map_err(stream)?;
        encoder.finish().map_err(failed)
    }

    /// How many bytes may still be written here.
    pub fn room(&self) -> Result<u64, Error> {
        let found = rustix::fs::statvfs(&self.inner.tmp)
            .map_err(|error| Error::at("measure", &self.inner.tmp)(error.into()))?;
        let reserve = found.f_blocks / RESERVE;
        Ok(found.f_bavail.saturating_sub(reserve) * found.f_frsize)
    }
}

impl Receiving {
    /// Unpacks a gzipped tar, reading it to its end.
    pub fn unpack_gzip(&self, input: impl Read, limits: &Limits) -> Result<(), Error> {
        let mut input = GzDecoder::new(io::BufReader::with_capacity(BUFFER, input));
        airside_tree::unpack_plain(&mut input, self.dir(), limits).map_err(|source| Error::Stream {
            id: self.id().clone(),
            source,
        })
    }
}
