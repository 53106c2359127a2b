//! Volumes as gzipped tars, which is how `fly` carries them.

use std::io::{self, BufWriter, Read, Write};

use airside_archive::Limits;
use airside_model::VolumeId;
use flate2::bufread::GzDecoder;

use crate::{Bytes, Disk, Error, Receiving, Volumes, fast_gzip::FastGzip};

/// Size of the buffer: large enough that the other end is not woken for every header.
const BUFFER: usize = 256 * 1024;

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
        let failed = |error| stream(airside_archive::Error::Write(error));
        let mut encoder = FastGzip::new(out).map_err(failed)?;
        airside_archive::pack_plain(&path, &mut encoder).map_err(stream)?;
        encoder.finish().map_err(failed)
    }

    /// Returns the number of bytes that an upload may have: the room above the high mark is kept
    /// for builds.
    pub fn room(&self) -> Result<u64, Error> {
        let disk = self.disk()?;
        match disk.room_below(self.marks.high) {
            0 => Err(self.nearly_full(disk)),
            room => Ok(room),
        }
    }

    /// Returns the error of a nearly full disk.
    pub fn nearly_full(&self, disk: Disk) -> Error {
        Error::NearlyFull {
            free: Bytes(disk.free),
            total: Bytes(disk.total),
            high: self.marks.high,
        }
    }
}

impl Receiving {
    /// Unpacks a gzipped tar, reading it to its end.
    pub fn unpack_gzip(&self, input: impl Read, limits: &Limits) -> Result<(), Error> {
        let mut input = GzDecoder::new(io::BufReader::with_capacity(BUFFER, input));
        airside_archive::unpack_plain(&mut input, self.dir(), limits).map_err(|source| {
            Error::Stream {
                id: self.id().clone(),
                source,
            }
        })
    }
}
