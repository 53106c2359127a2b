//! Appending: entries that arrive together are made durable together.

use std::{
    collections::{HashMap, VecDeque},
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use airside_model::{BuildId, chain, event::Event};
use parking_lot::Mutex;
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
};
use tokio_util::task::TaskTracker;
use tracing::warn;

use crate::{
    Error, Live, Logs, Result,
    outline::{self, Outline},
    recent::Batch,
    segment::{self, MOST_TRIES, Segment},
};

/// Behind a segment past this size a new one is begun.
const SEGMENT_BYTES: u64 = 4 * 1024 * 1024;

/// Number of full segments that wait for the end of the log to be compressed. Of a longer log the
/// oldest are compressed beside the writing: a log that says much in a short time needs the
/// processor for itself, and few are longer.
const WAITING: usize = 16;

/// Writes the log of one build for as long as its lease lasts; clones share it.
#[derive(Clone)]
pub struct LogWriter {
    build: BuildId,
    positions: Arc<Mutex<HashMap<String, u64>>>,
    /// The bytes of all entries, those of earlier epochs included.
    bytes: Arc<AtomicU64>,
    queue: mpsc::Sender<Command>,
}

enum Command {
    Append {
        key: String,
        entries: Vec<(u64, Event)>,
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
        let live = self.live(build);
        live.recent.lock().begin(epoch);
        live.progress.send_modify(|progress| {
            progress.durable = progress.durable.max(recovered.next);
            progress.closed = false;
        });
        let positions = Arc::new(Mutex::new(recovered.positions.clone()));
        let bytes = recovered.total.clone();
        let (queue, commands) = mpsc::channel(1024);
        let compressing = self.inner.compressing.clone();
        airside_tasks::spawn(
            "log of a build",
            write_all(recovered, commands, live, compressing),
        );
        Ok(LogWriter {
            build,
            positions,
            bytes,
            queue,
        })
    }
}

impl LogWriter {
    /// Returns the position up to which entries under this key are durable.
    pub fn position(&self, key: &str) -> u64 {
        self.positions.lock().get(key).copied().unwrap_or(0)
    }

    /// The size of the whole log before it is compressed: all that is durable of it.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns once the event is durable. An event whose position its key has reached already was
    /// written by an earlier server and is skipped.
    pub async fn append(&self, key: &str, position: u64, event: Event) -> Result<()> {
        self.append_all(key, vec![(position, event)]).await
    }

    /// Appends several events under one key, each with its position, which rise.
    pub async fn append_all(&self, key: &str, mut entries: Vec<(u64, Event)>) -> Result<()> {
        let reached = self.position(key);
        entries.retain(|(position, _)| *position > reached);
        let Some(&(last, _)) = entries.last() else {
            return Ok(());
        };
        let (done, written) = oneshot::channel();
        let key = key.to_owned();
        let command = Command::Append {
            key: key.clone(),
            entries,
            done,
        };
        self.send(command, written, "written").await?;
        self.positions.lock().insert(key, last);
        Ok(())
    }

    /// Closes the log: followers are notified, and segments compressed after that.
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
    outline: Outline,
    bytes: u64,
    /// The bytes of all segments.
    total: Arc<AtomicU64>,
    /// Full segments that are to be compressed.
    full: VecDeque<Segment>,
}

fn recover(folder: PathBuf, epoch: i64) -> io::Result<Active> {
    std::fs::create_dir_all(&folder)?;
    let Past {
        next,
        positions,
        bytes,
        outline,
    } = past(&folder)?;
    let (segment, file) = Segment::create(&folder, next, epoch)?;
    let outline = Outline::create(&folder, epoch, &outline)?;
    Ok(Active {
        folder,
        epoch,
        next,
        positions,
        segment,
        file,
        outline,
        bytes: 0,
        total: Arc::new(AtomicU64::new(bytes)),
        full: VecDeque::new(),
    })
}

/// The state of a log as earlier writers left it.
#[derive(Default)]
struct Past {
    next: u64,
    positions: HashMap<String, u64>,
    bytes: u64,
    /// Records of the events that are not output.
    outline: Vec<u8>,
}

/// Reads the entries that were written before. The writer before may still be at compressing: a
/// segment that was listed is then gone, and stands beside it in another form.
fn past(folder: &Path) -> io::Result<Past> {
    let mut tries = 0;
    loop {
        match read_past(&segment::list(folder)?) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && tries < MOST_TRIES => {
                tries += 1
            }
            read => return read,
        }
    }
}

fn read_past(segments: &[Segment]) -> io::Result<Past> {
    let mut past = Past::default();
    for (index, segment) in segments.iter().enumerate() {
        let end = segments
            .get(index + 1)
            .map_or(u64::MAX, |following| following.first);
        let mut records = segment.read()?;
        past.next = segment.first;
        while past.next < end {
            let Some(record) = records.next()? else { break };
            past.bytes += record.size();
            outline::note_written(&mut past.outline, past.next, &record.envelope);
            let position = past.positions.entry(record.key).or_insert(0);
            *position = record.position.max(*position);
            past.next += 1;
        }
    }
    Ok(past)
}

/// The one task that writes: takes all that is waiting, writes it, syncs once, notifies all
/// followers.
async fn write_all(
    mut active: Active,
    mut commands: mpsc::Receiver<Command>,
    live: Live,
    at_work: TaskTracker,
) {
    let Live { progress, recent } = live;
    let mut batch = Vec::new();
    let mut compressing: Option<JoinHandle<()>> = None;
    while commands.recv_many(&mut batch, 256).await > 0 {
        let mut groups = Vec::new();
        let mut waiting = Vec::new();
        let mut close = None;
        for command in batch.drain(..) {
            match command {
                Command::Append { key, entries, done } => {
                    groups.push((key, entries));
                    waiting.push(done);
                }
                Command::Close { done } => close = Some(done),
            }
        }
        let written = blocking(move || {
            let result = active.write(&groups);
            Ok((active, result))
        });
        let mut result = match written.await {
            Ok((returned, result)) => {
                active = returned;
                result
            }
            // The panic took the file along: the log takes nothing more until it is opened anew.
            Err(error) => return refuse_all(waiting, close, &error),
        };
        if let Ok(written) = &mut result {
            // Not needed where no follower is.
            match written.take().filter(|_| progress.receiver_count() > 0) {
                Some(written) => recent.lock().push(active.epoch, written),
                None => recent.lock().clear(),
            }
            progress.send_modify(|progress| progress.durable = active.next);
        }
        for done in waiting {
            let _ = done.send(result.as_ref().map(|_| ()).map_err(copy));
        }
        // What follows a failed write would have a gap before it.
        if result.is_err() && close.is_none() {
            return;
        }
        if let Some(done) = close {
            let folder = active.folder.clone();
            // Taken before followers learn of the end.
            let _compressing = at_work.token();
            let result = blocking(move || active.close()).await;
            progress.send_modify(|progress| progress.closed = true);
            let _ = done.send(result);
            end_of(compressing).await;
            return run_compression(move || compress_all(&folder)).await;
        }
        // While the next one fills. Should it fill sooner, the writer waits.
        if active.full.len() > WAITING
            && let Some(full) = active.full.pop_front()
        {
            end_of(compressing).await;
            let work = run_compression(move || compress(&full));
            compressing = Some(airside_tasks::spawn("log compression", work));
        }
    }
}

/// Waits until a segment is compressed, or its compression has panicked.
async fn end_of(work: Option<JoinHandle<()>>) {
    if let Some(work) = work {
        drop(work.await);
    }
}

/// Runs a compression on a blocking thread. A panic leaves the segment uncompressed.
async fn run_compression(work: impl FnOnce() + Send + 'static) {
    let work = move || {
        work();
        Ok(())
    };
    // The panic was logged, and nothing waits for the result.
    let _ = blocking(work).await;
}

/// Notifies all that wait that nothing was written.
fn refuse_all(
    waiting: Vec<oneshot::Sender<io::Result<()>>>,
    close: Option<oneshot::Sender<io::Result<()>>>,
    error: &io::Error,
) {
    for done in waiting.into_iter().chain(close) {
        let _ = done.send(Err(copy(error)));
    }
}

impl Active {
    /// Makes entries durable; gives them as they were written.
    fn write(&mut self, groups: &[(String, Vec<(u64, Event)>)]) -> io::Result<Option<Batch>> {
        let first = self.next;
        let (mut buffer, mut noted) = (Vec::new(), Vec::new());
        let mut envelopes = Vec::new();
        for (key, entries) in groups {
            for (position, event) in entries {
                let id = first + envelopes.len() as u64;
                outline::note(&mut noted, id, event);
                let write = |out: &mut Vec<u8>| event.write_envelope(id, out);
                envelopes.push(segment::encode(&mut buffer, key, *position, write));
            }
        }
        self.file.write_all(&buffer)?;
        self.file.sync_data()?;
        self.outline.append(&noted)?;
        self.next += envelopes.len() as u64;
        self.bytes += buffer.len() as u64;
        self.total.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        if self.bytes >= SEGMENT_BYTES {
            let (segment, file) = Segment::create(&self.folder, self.next, self.epoch)?;
            let full = std::mem::replace(&mut self.segment, segment);
            self.full.push_back(full);
            (self.file, self.bytes) = (file, 0);
        }
        Ok((!envelopes.is_empty()).then(|| Batch {
            first,
            bytes: buffer.into(),
            envelopes,
        }))
    }

    fn close(self) -> io::Result<()> {
        segment::mark_closed(&self.folder)
    }
}

fn compress_all(folder: &Path) {
    match segment::list(folder) {
        Ok(segments) => segments.iter().for_each(compress),
        Err(error) => {
            warn!(folder = %folder.display(), error = %chain(&error), "build log not compressed: its segments cannot be listed")
        }
    }
}

/// One that cannot be compressed serves as it is; and a log may be removed at any time.
fn compress(segment: &Segment) {
    match segment.compress() {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            warn!(?segment, error = %chain(&error), "segment of a build log not compressed");
        }
        _ => {}
    }
}

fn copy(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), chain(&error))
}

/// Works on a log's files. A panic is an error of theirs.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let done = airside_tasks::blocking("files of a log", work).await;
    done.unwrap_or_else(|panicked| Err(io::Error::other(panicked)))
}
