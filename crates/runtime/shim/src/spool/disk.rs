//! The part of the spool that did not fit into memory: records in files without names, a new file
//! every few megabytes, the oldest closed (and thereby gone) once all of it is acknowledged.
//!
//! The task shares the container; what has no name it cannot open.

use std::{
    collections::VecDeque,
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use airside_model::event::Source;
use rustix::fs::{Mode, OFlags};

use super::Piece;

/// One byte for the stream, four for the length.
const HEADER: usize = 5;

pub(super) struct Disk {
    folder: PathBuf,
    segment_size: u64,
    segments: VecDeque<Segment>,
    /// Position of the record that was read last, so that reading on does not search.
    hint: Option<Record>,
    /// A disk that failed once is left alone.
    usable: bool,
}

/// Output that is to be put on the disk.
pub(super) struct Spilled<'a> {
    pub(super) offset: u64,
    pub(super) source: Source,
    pub(super) data: &'a [u8],
}

struct Segment {
    file: File,
    length: u64,
    start: u64,
    end: u64,
}

#[derive(Clone, Copy)]
struct Record {
    /// Offset of the first byte of its payload in the output.
    offset: u64,
    /// Position of the header in the segment's file.
    position: u64,
}

impl Disk {
    pub(super) fn new(folder: PathBuf, segment_size: u64) -> Self {
        Self {
            folder,
            segment_size,
            segments: VecDeque::new(),
            hint: None,
            usable: true,
        }
    }

    pub(super) fn is_usable(&self) -> bool {
        self.usable
    }

    pub(super) fn used(&self) -> u64 {
        self.segments.iter().map(|segment| segment.length).sum()
    }

    /// Appends all of the records or none of them.
    pub(super) fn append<'a>(
        &mut self,
        outputs: impl Iterator<Item = Spilled<'a>> + Clone,
    ) -> io::Result<()> {
        let result = self.try_append(outputs);
        self.usable = result.is_ok();
        result
    }

    fn try_append<'a>(
        &mut self,
        mut outputs: impl Iterator<Item = Spilled<'a>> + Clone,
    ) -> io::Result<()> {
        let Some(first) = outputs.clone().next() else {
            return Ok(());
        };
        if self
            .segments
            .back()
            .is_none_or(|segment| segment.length >= self.segment_size)
        {
            let file = nameless(&self.folder)?;
            let offset = first.offset;
            self.segments.push_back(Segment {
                file,
                length: 0,
                start: offset,
                end: offset,
            });
        }
        let segment = self.segments.back_mut().expect("there is one now");
        let mut bytes = Vec::new();
        let mut end = segment.end;
        outputs.try_for_each(|output| -> io::Result<()> {
            let length = u32::try_from(output.data.len()).map_err(io::Error::other)?;
            bytes.push(u8::from(output.source == Source::Stderr));
            bytes.extend_from_slice(&length.to_be_bytes());
            bytes.extend_from_slice(output.data);
            end += u64::from(length);
            Ok(())
        })?;
        // What a failed write leaves behind lies beyond `length` and is never read.
        segment.file.write_all_at(&bytes, segment.length)?;
        segment.length += bytes.len() as u64;
        segment.end = end;
        Ok(())
    }

    /// The rest of the record that holds `offset`, if it is one of these.
    pub(super) fn read(&mut self, offset: u64) -> io::Result<Option<Piece<'static>>> {
        let index = self
            .segments
            .partition_point(|segment| segment.end <= offset);
        let Some(segment) = self.segments.get(index) else {
            return Ok(None);
        };
        if offset < segment.start {
            return Err(io::Error::other(
                "output that the hub had acknowledged is wanted again",
            ));
        }
        let first = Record {
            offset: segment.start,
            position: 0,
        };
        let near = |hint: &Record| (segment.start..=offset).contains(&hint.offset);
        let mut record = self.hint.filter(near).unwrap_or(first);
        loop {
            let (source, length) = segment.header(record)?;
            let next = record.offset + length;
            if offset < next {
                self.hint = Some(record);
                let skip = offset - record.offset;
                let mut data = vec![0; (length - skip) as usize];
                segment
                    .file
                    .read_exact_at(&mut data, record.position + HEADER as u64 + skip)?;
                return Ok(Some(Piece {
                    offset,
                    source,
                    data: data.into(),
                }));
            }
            record = Record {
                offset: next,
                position: record.position + HEADER as u64 + length,
            };
        }
    }

    pub(super) fn forget(&mut self, offset: u64) {
        while self
            .segments
            .front()
            .is_some_and(|segment| segment.end <= offset)
        {
            self.segments.pop_front();
            self.hint = None;
        }
    }
}

impl Segment {
    fn header(&self, record: Record) -> io::Result<(Source, u64)> {
        let mut header = [0; HEADER];
        self.file.read_exact_at(&mut header, record.position)?;
        let [stream, length @ ..] = header;
        let source = if stream == 1 {
            Source::Stderr
        } else {
            Source::Stdout
        };
        Ok((source, u64::from(u32::from_be_bytes(length))))
    }
}

fn nameless(folder: &Path) -> io::Result<File> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    if let Ok(file) = rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR) {
        return Ok(file.into());
    }
    // Not every file system has files without a name from the start.
    let path = folder.join(hex::encode(rand::random::<[u8; 16]>()));
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}
