//! Reading the segments of one log. Blocking; callers move it off the async threads.

use std::{io, path::PathBuf};

use airside_model::BuildId;

use crate::{
    Envelope, Error, LogEntry, Logs, Result,
    segment::{self, Record, Records},
};

/// The most that is read at once.
pub(crate) const BATCH_BYTES: usize = 256 * 1024;

/// A place in the files of a log.
pub(crate) struct LogFiles {
    folder: PathBuf,
    next: u64,
    open: Option<Open>,
}

/// The segment being read, and where the next one begins.
struct Open {
    records: Records,
    /// Read already, to see that the segment has what is wanted.
    first: Option<Record>,
    end: u64,
}

impl LogFiles {
    pub(crate) fn new(folder: PathBuf, next: u64) -> Self {
        Self {
            folder,
            next,
            open: None,
        }
    }

    /// Returns the id of the entry that is read next.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Goes on with another entry.
    pub(crate) fn skip_to(&mut self, next: u64) {
        self.next = next;
        self.open = None;
    }

    /// Reads some entries of those before `durable`.
    pub(crate) fn read(&mut self, durable: u64) -> io::Result<Vec<LogEntry>> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while self.next < durable && bytes < BATCH_BYTES {
            let Some(open) = &mut self.open else {
                if !self.open_segment()? {
                    break;
                }
                continue;
            };
            let record = match open.first.take() {
                Some(record) => Some(record),
                None if self.next < open.end => open.records.next()?,
                None => None,
            };
            let Some(record) = record else {
                // Either its end, or records that came after it was opened: look again.
                self.open = None;
                if !self.open_segment()? {
                    break;
                }
                continue;
            };
            bytes += record.envelope.len();
            batch.push(LogEntry {
                id: self.next,
                envelope: Envelope::new(record.envelope),
            });
            self.next += 1;
        }
        Ok(batch)
    }

    /// Opens the segment that holds the next entry; `false` if there is none (yet).
    fn open_segment(&mut self) -> io::Result<bool> {
        loop {
            let segments = segment::list(&self.folder)?;
            let Some(index) = segments
                .iter()
                .rposition(|segment| segment.first <= self.next)
            else {
                return Ok(false);
            };
            let end = segments
                .get(index + 1)
                .map_or(u64::MAX, |following| following.first);
            match segments[index].read() {
                // A compressed one has taken its place meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                records => return self.skip_to_next(records?, segments[index].first, end),
            }
        }
    }

    fn skip_to_next(&mut self, mut records: Records, first: u64, end: u64) -> io::Result<bool> {
        for _ in first..self.next {
            if records.next()?.is_none() {
                return Ok(false);
            }
        }
        let first = records.next()?;
        let found = first.is_some();
        self.open = first.map(|record| Open {
            records,
            first: Some(record),
            end,
        });
        Ok(found)
    }
}

/// Reads of a log what is durable, and never waits for more. Blocks its thread.
pub struct LogReader {
    logs: Logs,
    build: BuildId,
    files: LogFiles,
}

impl Logs {
    /// Returns a reader of a log from entry `from` on.
    pub fn reader(&self, build: BuildId, from: u64) -> LogReader {
        LogReader {
            logs: self.clone(),
            build,
            files: LogFiles::new(self.folder(build), from),
        }
    }
}

impl LogReader {
    /// Reads some entries that belong together; none if there are no more now.
    pub fn read(&mut self) -> Result<Vec<LogEntry>> {
        let durable = self.logs.extent(self.build).durable;
        self.files.read(durable).map_err(|source| Error::Io {
            build: self.build,
            action: "read",
            source,
        })
    }
}
