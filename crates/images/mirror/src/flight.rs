//! Flights: content that is being fetched, once for all callers, and served to all of them while it
//! comes.
//!
//! The last piece is handed out only when everything had the right digest, so no caller takes wrong
//! content for whole. A flight that one caller began is finished even if that caller leaves.

use std::{
    collections::HashMap,
    fs::File,
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use airside_model::chain;
use airside_oci::Digest;
use bytes::Bytes;
use futures::stream;
use http::header;
use http_body_util::BodyExt as _;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::{
    io::AsyncWriteExt as _,
    sync::{OnceCell, watch},
};

use crate::{
    Reply,
    folder::blocking,
    storage::{Pieces, Storage},
};

/// The longest silence within an answer.
const SILENCE: Duration = Duration::from_secs(60);
const PIECE: u64 = 64 << 10;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Progress {
    /// So many bytes may be read.
    Has(u64),
    Whole(u64),
    Failed(String),
}

/// One thing that is being fetched.
#[derive(Debug)]
pub(crate) struct Flight {
    /// File of the content, open while a caller reads it, even if it was renamed meanwhile.
    file: Arc<File>,
    /// Size that the registry announced.
    pub(crate) size: Option<u64>,
    pub(crate) kind: Option<String>,
    progress: watch::Receiver<Progress>,
}

/// Decision about another look into the storage, where another mirror may have brought the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StorageLook {
    Again,
    /// The storage was read before, and failed.
    NoMore,
}

pub(crate) enum NotBegun<E> {
    Refused(E),
    /// Another flight brought it while the caller looked.
    Kept,
    /// The mirror's storage cannot be written to.
    Failed(io::Error),
}

type Cell = Arc<OnceCell<Arc<Flight>>>;

pub(crate) struct Flights {
    spool: PathBuf,
    going: Arc<Mutex<HashMap<Digest, Cell>>>,
}

impl Flights {
    /// Opens the directory of flights, and removes the unfinished ones of an earlier process.
    #[allow(
        clippy::disallowed_methods,
        reason = "the folder is our own and has no folders in it"
    )]
    pub(crate) fn open(spool: &Path) -> io::Result<Self> {
        if spool.exists() {
            std::fs::remove_dir_all(spool)?;
        }
        std::fs::create_dir_all(spool)?;
        Ok(Self {
            spool: spool.to_owned(),
            going: Arc::default(),
        })
    }

    /// Returns the flight of that content, which may have `most` bytes. `start` is only called if
    /// there is none; its failure is its caller's alone.
    pub(crate) async fn join<E>(
        &self,
        digest: &Digest,
        storage: &Arc<dyn Storage>,
        look: StorageLook,
        most: u64,
        start: impl Future<Output = Result<Reply, E>>,
    ) -> Result<Arc<Flight>, NotBegun<E>> {
        let cell = self.going.lock().entry(digest.clone()).or_default().clone();
        let flight = cell
            .get_or_try_init(|| async {
                // A flight is forgotten only once its content is kept, so that this look cannot
                // miss it.
                let kept = storage.size(digest).await.map_err(NotBegun::Failed)?;
                if kept.is_some() && look == StorageLook::Again {
                    return Err(NotBegun::Kept);
                }
                let reply = start.await.map_err(NotBegun::Refused)?;
                let begun = self.depart(digest, reply, most, storage.clone());
                begun.map_err(NotBegun::Failed)
            })
            .await;
        if flight.is_err() {
            self.forget_if_idle(digest, &cell);
        }
        flight.cloned()
    }

    fn forget_if_idle(&self, digest: &Digest, cell: &Cell) {
        let mut going = self.going.lock();
        let is_same = going
            .get(digest)
            .is_some_and(|known| Arc::ptr_eq(known, cell));
        // One reference is the map's and one ours: no other caller is about to start it.
        if is_same && cell.get().is_none() && Arc::strong_count(cell) <= 2 {
            going.remove(digest);
        }
    }

    fn depart(
        &self,
        digest: &Digest,
        reply: Reply,
        most: u64,
        storage: Arc<dyn Storage>,
    ) -> io::Result<Arc<Flight>> {
        let text = |name| reply.headers().get(name)?.to_str().ok().map(str::to_owned);
        let size: Option<u64> = text(header::CONTENT_LENGTH).and_then(|text| text.parse().ok());
        let most = size.map_or(most, |size| size.min(most));
        let kind = text(header::CONTENT_TYPE);
        let path = self.spool.join(format!("{:032x}", rand::random::<u128>()));
        let written = File::create_new(&path)?;
        let (say, progress) = watch::channel(Progress::Has(0));
        let flight = Arc::new(Flight {
            file: Arc::new(File::open(&path)?),
            size,
            kind,
            progress,
        });
        let (digest, going) = (digest.clone(), self.going.clone());
        airside_tasks::spawn("fetch from a registry", async move {
            let written = Spooled {
                path: &path,
                file: written.into(),
                size,
                most,
            };
            let fetched = fetch(&digest, reply, written, &say, &*storage).await;
            // A caller that comes from now on finds it in the storage, or starts anew.
            going.lock().remove(&digest);
            say.send_replace(match fetched {
                Ok(size) => Progress::Whole(size),
                Err(error) => {
                    tracing::warn!(%digest, error = %chain(&error), "content not fetched");
                    let _ = tokio::fs::remove_file(&path).await;
                    Progress::Failed(chain(&error))
                }
            });
        });
        Ok(flight)
    }
}

/// A file that content is written to.
struct Spooled<'a> {
    path: &'a Path,
    file: tokio::fs::File,
    /// Bytes, as the registry says.
    size: Option<u64>,
    /// Bytes that it may have.
    most: u64,
}

async fn fetch(
    digest: &Digest,
    reply: Reply,
    to: Spooled<'_>,
    say: &watch::Sender<Progress>,
    storage: &dyn Storage,
) -> io::Result<u64> {
    let Spooled {
        path,
        mut file,
        size,
        most,
    } = to;
    let mut body = reply.into_body();
    let mut hash = Sha256::new();
    let mut written = 0;
    loop {
        let frame = tokio::time::timeout(SILENCE, body.frame()).await;
        let frame = frame.map_err(|_| io::Error::other("the registry fell silent"))?;
        let Some(frame) = frame else { break };
        let frame = frame.map_err(io::Error::other)?;
        let Ok(piece) = frame.into_data() else {
            continue;
        };
        let before: u64 = written;
        written += piece.len() as u64;
        if written > most {
            return Err(io::Error::other(format!(
                "the registry sent more than {most} bytes"
            )));
        }
        hash.update(&piece);
        file.write_all(&piece).await?;
        file.flush().await?;
        // Never the last piece: where it is not known which one that is, what was followed by
        // another.
        match size {
            Some(size) if written < size => say.send_replace(Progress::Has(written)),
            _ => say.send_replace(Progress::Has(before)),
        };
    }
    file.flush().await?;
    let found = Digest::of_sha256(hash.finalize().into());
    if found != *digest {
        return Err(io::Error::other(format!(
            "the registry sent {found} instead"
        )));
    }
    if let Err(error) = storage.keep(digest, path).await {
        // Those who read it have it; the next ones fetch it again.
        tracing::error!(%digest, error = %chain(&error), "content not stored");
        tokio::fs::remove_file(path).await?;
    }
    Ok(written)
}

impl Flight {
    /// Waits until there is something to read: wrong content that came in one piece is then an
    /// error here, and not an answer that breaks off.
    pub(crate) async fn read(&self, from: u64, length: Option<u64>) -> io::Result<Pieces> {
        let mut progress = self.progress.clone();
        let end = length.map(|length| from + length);
        next(&mut progress, from, end).await?;
        let state = (self.file.clone(), from, progress);
        Ok(Box::pin(stream::try_unfold(
            state,
            move |(file, at, mut progress)| async move {
                let Some(until) = next(&mut progress, at, end).await? else {
                    return Ok(None);
                };
                let piece = piece(file.clone(), at, (until - at).min(PIECE)).await?;
                let at = at + piece.len() as u64;
                Ok(Some((piece, (file, at, progress))))
            },
        )))
    }
}

async fn piece(file: Arc<File>, at: u64, length: u64) -> io::Result<Bytes> {
    blocking(move || {
        let mut piece = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        file.read_exact_at(&mut piece, at)?;
        Ok(Bytes::from(piece))
    })
    .await
}

/// Returns the end of the readable part, which is more than `at`; none at the end of the content.
async fn next(
    progress: &mut watch::Receiver<Progress>,
    at: u64,
    end: Option<u64>,
) -> io::Result<Option<u64>> {
    if end.is_some_and(|end| at >= end) {
        return Ok(None);
    }
    let ready = progress
        .wait_for(|progress| !matches!(progress, Progress::Has(has) if *has <= at))
        .await
        .map_err(|_| io::Error::other("the fetch was given up"))?
        .clone();
    let has = match ready {
        Progress::Has(has) => has,
        Progress::Whole(size) if at >= size => return Ok(None),
        Progress::Whole(size) => size,
        Progress::Failed(words) => return Err(io::Error::other(words)),
    };
    Ok(Some(end.map_or(has, |end| has.min(end))))
}
