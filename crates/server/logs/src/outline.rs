//! The outline of a log: all events but output, in a small file beside the segments. A reader of
//! a build's steps reads it, so that the reader's cost does not grow with what the steps print.
//!
//! A writer begins an outline of its own, with what earlier writers left. An outline is not made
//! durable by itself: where the end of a closed log is missing from it, the segments are read.

use std::{
    fs::{self, File},
    io::{self, BufReader, Write},
    path::{Path, PathBuf},
};

use airside_model::{BuildId, event::Event};

use crate::{
    Envelope, Error, LogEntry, Logs, Result,
    segment::{self, MOST_TRIES, Record, Records, Segment},
    writer::blocking,
};

/// The end of an envelope whose event is output: what stands before the number of the event.
const OUTPUT: &[u8] = br#","event":"log","version":""#;

/// The most bytes between the beginning of that and the end of the envelope.
const OUTPUT_TAIL: usize = 96;

impl Logs {
    /// Returns the events of a build's log that are not output, as far as they are durable.
    pub async fn outline(&self, build: BuildId) -> Result<Vec<LogEntry>> {
        let folder = self.folder(build);
        let read = blocking(move || read_patiently(&folder)).await;
        read.map_err(|source| Error::Io {
            build,
            action: "read",
            source,
        })
    }
}

/// Appends to the outline of one writer.
pub(crate) struct Outline {
    file: File,
}

impl Outline {
    /// Begins the outline of an epoch with the records of earlier ones.
    pub(crate) fn create(folder: &Path, epoch: i64, past: &[u8]) -> io::Result<Self> {
        let (path, scratch) = (path_of(folder, epoch), folder.join("outline.tmp"));
        let mut file = File::create(&scratch)?;
        file.write_all(past)?;
        fs::rename(scratch, path)?;
        Ok(Self { file })
    }

    /// Appends records that [`note`] made.
    pub(crate) fn append(&mut self, records: &[u8]) -> io::Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        self.file.write_all(records)
    }
}

/// Puts the record of an event behind what is in `out`, unless the event is output.
pub(crate) fn note(out: &mut Vec<u8>, id: u64, event: &Event) {
    if !matches!(event, Event::Log { .. }) {
        segment::encode(out, "", id, |out| event.write_envelope(id, out));
    }
}

/// Does what [`note`] does, with an event that was written before.
pub(crate) fn note_written(out: &mut Vec<u8>, id: u64, envelope: &[u8]) {
    if !is_output(envelope) {
        segment::encode(out, "", id, |out| out.extend_from_slice(envelope));
    }
}

fn is_output(envelope: &[u8]) -> bool {
    let tail = &envelope[envelope.len().saturating_sub(OUTPUT_TAIL)..];
    tail.windows(OUTPUT.len()).any(|part| part == OUTPUT)
}

fn path_of(folder: &Path, epoch: i64) -> PathBuf {
    folder.join(format!("outline-{epoch:06}"))
}

/// Reads the outline, or else the segments. A segment that was listed may be compressed meanwhile.
fn read_patiently(folder: &Path) -> io::Result<Vec<LogEntry>> {
    let segments = segment::list(folder)?;
    if let Some(entries) = read_outline(folder, &segments)? {
        return Ok(entries);
    }
    let mut tries = 0;
    loop {
        match read_segments(&segment::list(folder)?) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && tries < MOST_TRIES => {
                tries += 1;
            }
            read => return read,
        }
    }
}

/// Reads the outline of the newest writer; none if there is none, or if its end is missing.
fn read_outline(folder: &Path, segments: &[Segment]) -> io::Result<Option<Vec<LogEntry>>> {
    let Some(epoch) = segments.iter().map(|segment| segment.epoch).max() else {
        return Ok(None);
    };
    let closed = segment::is_closed(folder);
    let file = match File::open(path_of(folder, epoch)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => BufReader::new(opened?),
    };
    let mut records = Records::of(Box::new(file));
    let mut entries = Vec::new();
    while let Some(record) = records.next()? {
        entries.push(entry(record.position, record));
    }
    let is_whole = !closed || entries.last().is_some_and(is_end);
    Ok(is_whole.then_some(entries))
}

/// Returns true if the entry is the status of a finished build, which a closed log ends with.
fn is_end(entry: &LogEntry) -> bool {
    let envelope = entry.envelope.as_bytes();
    let has = |text: &[u8]| envelope.windows(text.len()).any(|part| part == text);
    has(br#","event":"status","version":""#) && !has(br#""status":"started""#)
}

fn read_segments(segments: &[Segment]) -> io::Result<Vec<LogEntry>> {
    let mut entries = Vec::new();
    for (index, segment) in segments.iter().enumerate() {
        let following = segments.get(index + 1);
        let end = following.map_or(u64::MAX, |following| following.first);
        let mut records = segment.read()?;
        for id in segment.first..end {
            let Some(record) = records.next()? else { break };
            if !is_output(&record.envelope) {
                entries.push(entry(id, record));
            }
        }
    }
    Ok(entries)
}

fn entry(id: u64, record: Record) -> LogEntry {
    LogEntry {
        id,
        envelope: Envelope::new(record.envelope),
    }
}
