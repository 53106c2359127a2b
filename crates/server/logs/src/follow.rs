//! Reading a log as it grows.

use std::{io, sync::Arc};

use airside_model::BuildId;
use futures::{StreamExt, stream::BoxStream};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::{
    Envelope, Error, Live, LogEntry, Logs, Progress, Recent, Result,
    segment::{self, Record, Records},
    writer::blocking,
};

/// The most that is read ahead for one follower.
const BATCH_BYTES: usize = 256 * 1024;

impl Logs {
    /// Everything from entry `from` on, as it becomes durable; ends when the log is closed.
    pub fn follow(&self, build: BuildId, from: u64) -> BoxStream<'static, Result<LogEntry>> {
        let entries = |batch: Result<Vec<LogEntry>>| match batch {
            Ok(batch) => batch.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        };
        let batches = self.follow_batches(build, from);
        batches
            .flat_map(move |batch| futures::stream::iter(entries(batch)))
            .boxed()
    }

    /// Follows a log in pieces of some hundred kilobytes at most: entries that are there together.
    pub fn follow_batches(
        &self,
        build: BuildId,
        from: u64,
    ) -> BoxStream<'static, Result<Vec<LogEntry>>> {
        let Live { progress, recent } = self.live(build);
        let follower = Follower {
            build,
            logs: self.clone(),
            progress: progress.subscribe(),
            recent,
            next: from,
            open: None,
        };
        let batches = futures::stream::unfold(Some(follower), |follower| async move {
            let follower = follower?;
            match follower.batch().await {
                Ok((_, batch)) if batch.is_empty() => None,
                Ok((follower, batch)) => Some((Ok(batch), Some(follower))),
                Err(error) => Some((Err(error), None)),
            }
        });
        batches.boxed()
    }
}

struct Follower {
    build: BuildId,
    logs: Logs,
    progress: watch::Receiver<Progress>,
    recent: Arc<Mutex<Recent>>,
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

impl Follower {
    /// Waits for entries and reads some; none means the end.
    async fn batch(mut self) -> Result<(Self, Vec<LogEntry>)> {
        loop {
            let next = self.next;
            let ready = self
                .progress
                .wait_for(|progress| progress.durable > next || progress.closed)
                .await
                .map(|progress| *progress);
            // The sender is kept in the store; without it the log was removed.
            let Ok(progress) = ready else {
                return Ok((self, Vec::new()));
            };
            let recent = self.remembered();
            if !recent.is_empty() {
                return Ok((self, recent));
            }
            let build = self.build;
            let read = blocking(move || {
                let batch = self.read(progress.durable)?;
                Ok((self, batch))
            });
            let (follower, batch) = read.await.map_err(|source| Error::Io {
                build,
                action: "read",
                source,
            })?;
            self = follower;
            if !batch.is_empty() || progress.closed {
                return Ok((self, batch));
            }
        }
    }

    /// Returns entries from memory. Durable entries are announced after they got here, so that none
    /// is seen too early.
    fn remembered(&mut self) -> Vec<LogEntry> {
        let entries = self.recent.lock().entries(self.next, BATCH_BYTES);
        if let Some(last) = entries.last() {
            self.next = last.id + 1;
            // It is no longer where the next entry is.
            self.open = None;
        }
        entries
    }

    fn read(&mut self, durable: u64) -> io::Result<Vec<LogEntry>> {
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
            let segments = segment::list(&self.logs.folder(self.build))?;
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
