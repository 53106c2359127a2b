//! Reading a log as it grows.

use std::sync::Arc;

use airside_model::BuildId;
use futures::{StreamExt, stream::BoxStream};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::{
    Error, Live, LogEntry, Logs, Progress, Recent, Result,
    files::{BATCH_BYTES, LogFiles},
    writer::blocking,
};

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
            progress: progress.subscribe(),
            recent,
            files: LogFiles::new(self.folder(build), from),
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
    progress: watch::Receiver<Progress>,
    recent: Arc<Mutex<Recent>>,
    files: LogFiles,
}

impl Follower {
    /// Waits for entries and reads some; none means the end.
    async fn batch(mut self) -> Result<(Self, Vec<LogEntry>)> {
        loop {
            let next = self.files.next();
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
                let batch = self.files.read(progress.durable)?;
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
        let entries = self.recent.lock().entries(self.files.next(), BATCH_BYTES);
        if let Some(last) = entries.last() {
            self.files.skip_to(last.id + 1);
        }
        entries
    }
}
