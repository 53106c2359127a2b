//! Layers become one folder, inside of the confined process that has nothing but that folder.

use std::{
    cell::Cell,
    fs::File,
    io::{self, BufReader, Read},
    path::Path,
};

use airside_archive::{HashingReader, Limits};
use airside_model::chain;
use airside_oci::Digest;
use airside_pulls::PullProgress;

use crate::{
    counter::{Counted, Counter},
    wire::{Layer, PullerAnswer},
};

/// Files, folders and links of a layer, beyond any image in use.
const MOST_ENTRIES: u64 = 4_000_000;
/// Factor by which a layer may grow when it is unpacked: far more than files do, far less than a
/// bomb.
const GROWTH: u64 = 100;
/// Bytes that a layer may hold however small it is.
const ALWAYS: u64 = 64 << 20;

/// A layer that was opened before the process lost sight of it.
pub(crate) struct Opened {
    file: File,
    stored: u64,
    layer: Layer,
}

impl Opened {
    pub(crate) fn open(layer: &Layer) -> io::Result<Self> {
        let file = File::open(&layer.path)?;
        let stored = file.metadata()?.len();
        Ok(Self {
            file,
            stored,
            layer: layer.clone(),
        })
    }
}

/// Unpacks the layers over each other into the working folder. Together they may have `most` bytes.
/// `report` gets the numbers of the compressed layers as they are read.
pub(crate) fn all(
    layers: Vec<Opened>,
    most: u64,
    report: &mut dyn FnMut(PullProgress),
) -> PullerAnswer {
    let left = Cell::new(most);
    let bytes = layers.iter().map(|layer| layer.stored).sum();
    let mut counter = Counter::new(layers.len() as u64, bytes, report);
    for opened in layers {
        if let Err(answer) = one(opened, &left, &mut counter) {
            return answer;
        }
        counter.layer_done();
    }
    PullerAnswer::Done
}

fn one(opened: Opened, left: &Cell<u64>, counter: &mut Counter<'_>) -> Result<(), PullerAnswer> {
    let layer = opened.layer;
    let grown = opened.stored.saturating_mul(GROWTH).saturating_add(ALWAYS);
    let limits = Limits {
        bytes: grown,
        entries: MOST_ENTRIES,
    };
    let mut blob = HashingReader::new(opened.file);
    let unpacked = {
        let counted = Counted {
            reader: &mut blob,
            counter,
        };
        let buffered = BufReader::with_capacity(1 << 16, counted);
        let reader = decompressed(&layer, buffered)?;
        let metered = Metered { reader, left };
        airside_archive::unpack_layer(metered, Path::new("."), &limits)
    };
    // The hash first: of a damaged blob, that it is damaged says more than what tar made of it.
    verify(blob, &layer.digest)?;
    unpacked.map_err(|error| {
        if error.is_disk_full() {
            PullerAnswer::DiskFull
        } else {
            PullerAnswer::BadLayer {
                layer: layer.digest,
                words: chain(&error).chars().take(500).collect(),
            }
        }
    })
}

fn verify(mut blob: HashingReader<File>, expected: &Digest) -> Result<(), PullerAnswer> {
    io::copy(&mut blob, &mut io::sink()).map_err(|error| PullerAnswer::Broken(chain(&error)))?;
    let actual = blob.finish().1.sha256;
    if actual == expected.hex() {
        Ok(())
    } else {
        Err(PullerAnswer::Mismatch {
            expected: expected.clone(),
            actual,
        })
    }
}

/// Reads a layer, whatever it is compressed with: its label is not to be relied upon.
fn decompressed<'a>(
    layer: &Layer,
    mut blob: impl io::BufRead + 'a,
) -> Result<Box<dyn Read + 'a>, PullerAnswer> {
    let broken = |error: io::Error| PullerAnswer::Broken(chain(&error));
    let first = blob.fill_buf().map_err(broken)?;
    let is_tar = first.get(257..262) == Some(b"ustar") || layer.media_type.ends_with(".tar");
    match first {
        [0x1f, 0x8b, ..] => Ok(Box::new(flate2::bufread::MultiGzDecoder::new(blob))),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let decoder = zstd::stream::read::Decoder::with_buffer(blob);
            Ok(Box::new(decoder.map_err(broken)?))
        }
        _ if is_tar => Ok(Box::new(blob)),
        _ => Err(PullerAnswer::MediaType {
            layer: layer.digest.clone(),
            media_type: layer.media_type.chars().take(200).collect(),
        }),
    }
}

/// Counts what all layers unpack to, and fails when that is too much.
struct Metered<'a, R> {
    reader: R,
    left: &'a Cell<u64>,
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        let left = self.left.get().checked_sub(count as u64);
        self.left.set(left.ok_or_else(|| {
            let words = "the image unpacks to more than there is room for";
            io::Error::new(io::ErrorKind::StorageFull, words)
        })?);
        Ok(count)
    }
}
