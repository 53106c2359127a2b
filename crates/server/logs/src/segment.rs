//! Segment files: names, records, recovery. Blocking; callers move it off the async threads.
//!
//! A record is `length, checksum, position, key length, key, envelope`. A record cut short by a
//! crash fails its checksum and ends its segment.

use std::{
    fs::{self, File},
    io::{self, BufReader, Read, Write},
    ops::Range,
    path::{Path, PathBuf},
};

use bytes::{Buf, Bytes};

const CLOSED: &str = "closed";

/// The most listings of a folder whose segments are compressed meanwhile.
pub(crate) const MOST_TRIES: u32 = 100;

/// One event as it lies in a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) key: String,
    pub(crate) position: u64,
    pub(crate) envelope: Bytes,
}

/// Offset of a record's body: behind its length and its checksum.
const HEAD: usize = 8;

/// The bytes of a record's position.
const POSITION: usize = 8;

/// Puts a record behind what is in `out`; `envelope` writes what it is about. Gives where that is.
pub(crate) fn encode(
    out: &mut Vec<u8>,
    key: &str,
    position: u64,
    envelope: impl FnOnce(&mut Vec<u8>),
) -> Range<usize> {
    let start = out.len();
    let key = &key.as_bytes()[..key.len().min(255)];
    out.extend_from_slice(&[0; HEAD]);
    out.extend_from_slice(&position.to_be_bytes());
    out.push(key.len() as u8);
    out.extend_from_slice(key);
    let written = out.len();
    envelope(out);
    let (head, body) = out[start..].split_at_mut(HEAD);
    head[..4].copy_from_slice(&(body.len() as u32).to_be_bytes());
    head[4..].copy_from_slice(&crc32fast::hash(body).to_be_bytes());
    written..out.len()
}

impl Record {
    /// The bytes that the record takes in a segment.
    pub(crate) fn size(&self) -> u64 {
        (HEAD + POSITION + 1 + self.key.len() + self.envelope.len()) as u64
    }

    /// The next record, or `None` at the end or at the first damaged one.
    fn decode(input: &mut impl Read) -> io::Result<Option<Self>> {
        let mut head = [0; HEAD];
        if !read_whole(input, &mut head)? {
            return Ok(None);
        }
        let (length, sum) = head.split_at(4);
        let length = u32::from_be_bytes(length.try_into().expect("four bytes")) as usize;
        if !(9..=64 * 1024 * 1024).contains(&length) {
            return Ok(None);
        }
        let mut body = vec![0; length];
        if !read_whole(input, &mut body)? || !is_whole(&body, sum) {
            return Ok(None);
        }
        let position = u64::from_be_bytes(body[..8].try_into().expect("eight bytes"));
        let key_end = 9 + usize::from(body[8]);
        let Some(key) = body.get(9..key_end) else {
            return Ok(None);
        };
        let key = String::from_utf8_lossy(key).into_owned();
        let mut envelope = Bytes::from(body);
        envelope.advance(key_end);
        Ok(Some(Self {
            key,
            position,
            envelope,
        }))
    }
}

/// Returns true if these are all the bytes that were written, not only some of them. Earlier
/// versions had another checksum.
fn is_whole(body: &[u8], sum: &[u8]) -> bool {
    crc32fast::hash(body).to_be_bytes() == sum || fnv(body).to_be_bytes() == sum
}

fn fnv(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |sum, byte| {
        (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

fn read_whole(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match input.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// A segment's place in the log, from its file name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Segment {
    pub(crate) first: u64,
    pub(crate) epoch: i64,
    compressed: bool,
    path: PathBuf,
}

impl Segment {
    /// Starts a new segment; it must not exist yet.
    pub(crate) fn create(folder: &Path, first: u64, epoch: i64) -> io::Result<(Self, File)> {
        let path = folder.join(format!("{first:012}-{epoch:06}.log"));
        let file = File::options().create_new(true).append(true).open(&path)?;
        Ok((
            Self {
                first,
                epoch,
                compressed: false,
                path,
            },
            file,
        ))
    }

    pub(crate) fn read(&self) -> io::Result<Records> {
        let file = BufReader::with_capacity(128 * 1024, File::open(&self.path)?);
        let input: Box<dyn Read + Send> = if self.compressed {
            Box::new(BufReader::new(zstd::Decoder::with_buffer(file)?))
        } else {
            Box::new(file)
        };
        Ok(Records { input })
    }

    /// Replaces the segment by a compressed one, if it is not one already. A crash in between
    /// leaves both, and either serves.
    pub(crate) fn compress(&self) -> io::Result<()> {
        if self.compressed {
            return Ok(());
        }
        let target = self.path.with_extension("zst");
        let scratch = self.path.with_extension("tmp");
        // Of a log that was removed nothing is made anew, so the file that is needed comes first.
        let mut source = File::open(&self.path)?;
        let mut encoder = zstd::Encoder::new(File::create(&scratch)?, 3)?;
        io::copy(&mut source, &mut encoder)?;
        encoder.finish()?.sync_all()?;
        fs::rename(scratch, target)?;
        fs::remove_file(&self.path)
    }
}

/// The records of one segment, in order.
pub(crate) struct Records {
    input: Box<dyn Read + Send>,
}

impl Records {
    pub(crate) fn of(input: Box<dyn Read + Send>) -> Self {
        Self { input }
    }

    pub(crate) fn next(&mut self) -> io::Result<Option<Record>> {
        Record::decode(&mut self.input)
    }
}

/// The segments of a build, in order; of two for the same entries the newer epoch's.
pub(crate) fn list(folder: &Path) -> io::Result<Vec<Segment>> {
    let mut segments: Vec<Segment> = Vec::new();
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(segments),
        other => other?,
    };
    for entry in entries {
        segments.extend(parse(&entry?.path()));
    }
    segments.sort();
    segments.dedup_by(|next, kept| {
        let same = next.first == kept.first;
        if same && next.epoch > kept.epoch {
            std::mem::swap(next, kept);
        }
        same
    });
    Ok(segments)
}

fn parse(path: &Path) -> Option<Segment> {
    let compressed = match path.extension()?.to_str()? {
        "log" => false,
        "zst" => true,
        _ => return None,
    };
    let (first, epoch) = path.file_stem()?.to_str()?.split_once('-')?;
    Some(Segment {
        first: first.parse().ok()?,
        epoch: epoch.parse().ok()?,
        compressed,
        path: path.to_owned(),
    })
}

/// Removes the folder and all that is in it, if it is there. A task that compresses a segment may
/// put one more file into it meanwhile, for each segment it had opened; so it is tried again, and
/// not for ever.
#[allow(
    clippy::disallowed_methods,
    reason = "the folder is our own and has no folders in it"
)]
pub(crate) fn remove_all(folder: &Path) -> io::Result<()> {
    let mut tries = 0;
    loop {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error)
                if error.kind() == io::ErrorKind::DirectoryNotEmpty && tries < MOST_TRIES =>
            {
                tries += 1;
            }
            removed => return removed,
        }
    }
}

pub(crate) fn is_closed(folder: &Path) -> bool {
    folder.join(CLOSED).exists()
}

pub(crate) fn mark_closed(folder: &Path) -> io::Result<()> {
    File::create(folder.join(CLOSED))?.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded() -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(&mut bytes, "1/log", 7, |out| {
            out.extend_from_slice("é{}".as_bytes())
        });
        bytes
    }

    fn record() -> Record {
        Record {
            key: "1/log".to_owned(),
            position: 7,
            envelope: "é{}".into(),
        }
    }

    #[test]
    fn records_come_back_one_after_the_other() {
        let twice = [encoded(), encoded()].concat();
        let mut input = twice.as_slice();
        assert_eq!(Record::decode(&mut input).unwrap(), Some(record()));
        assert_eq!(Record::decode(&mut input).unwrap(), Some(record()));
        assert_eq!(Record::decode(&mut input).unwrap(), None);
    }

    #[test]
    fn a_damaged_record_is_none() {
        let whole = encoded();
        for cut in 0..whole.len() {
            assert_eq!(Record::decode(&mut &whole[..cut]).unwrap(), None);
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            assert_eq!(
                Record::decode(&mut damaged.as_slice()).unwrap(),
                None,
                "{at}"
            );
        }
    }

    #[test]
    fn the_checksum_of_earlier_versions_is_known() {
        let mut bytes = encoded();
        let sum = fnv(&bytes[HEAD..]).to_be_bytes();
        bytes[4..HEAD].copy_from_slice(&sum);
        assert_eq!(
            Record::decode(&mut bytes.as_slice()).unwrap(),
            Some(record())
        );
    }
}
