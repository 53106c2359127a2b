//! Appending: entries that arrive together are made durable together.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, Write},
    path::PathBuf,
    sync::Arc,
};

use airside_model::{BuildId, event::Event};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};

use crate::{
    Error, Logs, Progress, Result,
    segment::{self, Record, Segment},
};

/// A segment past this size is compressed and a new one begun.
const SEGMENT_BYTES: u64 = 4 * 1024 * 1024;

/// Writes the log of one build for as long as its lease lasts; clones share it.
#[derive(Clone)]
pub struct LogWriter {
    build: BuildId,
    positions: Arc<Mutex<HashMap<String, u64>>>,
    queue: mpsc::Sender<Command>,
}

enum Command {
    Append {
        key: String,
        position: u64,
        event: Box<Event>,
        done: oneshot::Sender<io::Result<()>>,
    },
    Close {
        done: oneshot::Sender<io::Result<()>>,
    },
}

impl Logs {
    /// Opens the log for writing, after whatever earlier epochs wrote.
    pub async fn writer(&self, build: BuildId, epoch: i64) -> Result<LogWriter> {
        let folder = self.folder(build);
        let failed = |source| Error::Io {
            build,
            action: "opened",
            source,
        };
        let recovered = blocking(move || recover(folder, epoch))
            .await
            .map_err(failed)?;
        let progress = self.progress(build);
        progress.send_modify(|progress| {
            progress.durable = progress.durable.max(recovered.next);
            progress.closed = false;
        });
        let positions = Arc::new(Mutex::new(recovered.positions.clone()));
        let (queue, commands) = mpsc::channel(1024);
        tokio::spawn(write_all(recovered, commands, progress));
        Ok(LogWriter {
            build,
            positions,
            queue,
        })
    }
}

impl LogWriter {
    /// How far entries under this key are durable.
    pub fn position(&self, key: &str) -> u64 {
        self.positions.lock().get(key).copied().unwrap_or(0)
    }

    /// Returns once the event is durable. An event whose position its key has reached already was
    /// written by an earlier server and is skipped.
    pub async fn append(&self, key: &str, position: u64, event: Event) -> Result<()> {
        if self.position(key) >= position {
            return Ok(());
        }
        let (done, written) = oneshot::channel();
        let key = key.to_owned();
        let command = Command::Append {
            key: key.clone(),
            position,
            event: Box::new(event),
            done,
        };
        self.send(command, written, "written").await?;
        self.positions.lock().insert(key, position);
        Ok(())
    }

    /// Nothing more comes: followers are told, segments compressed.
    pub async fn close(&self) -> Result<()> {
        let (done, written) = oneshot::channel();
        self.send(Command::Close { done }, written, "closed").await
    }

    async fn send(
        &self,
        command: Command,
        written: oneshot::Receiver<io::Result<()>>,
        action: &'static str,
    ) -> Result<()> {
        let closed = || Error::Closed { build: self.build };
        self.queue.send(command).await.map_err(|_| closed())?;
        let result = written.await.map_err(|_| closed())?;
        result.map_err(|source| Error::Io {
            build: self.build,
            action,
            source,
        })
    }
}

struct Active {
    folder: PathBuf,
    epoch: i64,
    next: u64,
    positions: HashMap<String, u64>,
    segment: Segment,
    file: File,
    bytes: u64,
}

fn recover(folder: PathBuf, epoch: i64) -> io::Result<Active> {
    std::fs::create_dir_all(&folder)?;
    let segments = segment::list(&folder)?;
    let (mut next, mut positions) = (0, HashMap::new());
    for (index, segment) in segments.iter().enumerate() {
        let end = segments
            .get(index + 1)
            .map_or(u64::MAX, |following| following.first);
        let mut records = segment.read()?;
        next = segment.first;
        while next < end {
            let Some(record) = records.next()? else { break };
            let position = positions.entry(record.key).or_insert(0);
            *position = record.position.max(*position);
            next += 1;
        }
    }
    let (segment, file) = Segment::create(&folder, next, epoch)?;
    Ok(Active {
        folder,
        epoch,
        next,
        positions,
        segment,
        file,
        bytes: 0,
    })
}

/// The one task that writes: takes all that is waiting, writes it, syncs once, tells everybody.
async fn write_all(
    mut active: Active,
    mut commands: mpsc::Receiver<Command>,
    progress: watch::Sender<Progress>,
) {
    let mut batch = Vec::new();
    while commands.recv_many(&mut batch, 256).await > 0 {
        let mut bytes = Vec::new();
        let mut waiting = Vec::new();
        let mut close = None;
        for command in batch.drain(..) {
            match command {
                Command::Append {
                    key,
                    position,
                    event,
                    done,
                } => {
                    let envelope = event.envelope(active.next);
                    active.next += 1;
                    Record {
                        key,
                        position,
                        envelope,
                    }
                    .encode(&mut bytes);
                    waiting.push(done);
                }
                Command::Close { done } => close = Some(done),
            }
        }
        let (returned, result) = blocking(move || {
            let result = active.write(&bytes);
            (active, result)
        })
        .await;
        active = returned;
        if result.is_ok() {
            progress.send_modify(|progress| progress.durable = active.next);
        }
        for done in waiting {
            let _ = done.send(result.as_ref().copied().map_err(copy));
        }
        // What follows a failed write would have a gap before it.
        if result.is_err() && close.is_none() {
            return;
        }
        if let Some(done) = close {
            let result = blocking(move || active.close()).await;
            progress.send_modify(|progress| progress.closed = true);
            let _ = done.send(result);
            return;
        }
    }
}

impl Active {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.file.sync_data()?;
        self.bytes += bytes.len() as u64;
        if self.bytes < SEGMENT_BYTES {
            return Ok(());
        }
        let (segment, file) = Segment::create(&self.folder, self.next, self.epoch)?;
        let full = std::mem::replace(&mut self.segment, segment);
        (self.file, self.bytes) = (file, 0);
        full.compress()
    }

    fn close(self) -> io::Result<()> {
        segment::mark_closed(&self.folder)?;
        drop(self.file);
        for segment in segment::list(&self.folder)? {
            segment.compress()?;
        }
        Ok(())
    }
}

fn copy(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), error.to_string())
}

pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work)
        .await
        .expect("log I/O does not panic")
}
