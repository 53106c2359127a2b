//! Storage in a folder: `blobs/HEX`, and notes as small files below `notes`.

use std::{
    fs::{self, FileTimes},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use airside_oci::Digest;
use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures::stream;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

use crate::{
    clock,
    storage::{KeptContent, Note, NoteName, Noted, Pieces, Storage},
};

const PIECE: usize = 64 << 10;
/// A use is written down this often at most.
const USED: Duration = Duration::from_secs(600);

#[derive(Clone, Debug)]
pub struct Folder {
    blobs: PathBuf,
    notes: PathBuf,
}

impl Folder {
    pub fn open(root: &Path) -> io::Result<Self> {
        let folder = Self {
            blobs: root.join("blobs"),
            notes: root.join("notes"),
        };
        fs::create_dir_all(&folder.blobs)?;
        fs::create_dir_all(&folder.notes)?;
        Ok(folder)
    }

    fn blob(&self, digest: &Digest) -> PathBuf {
        self.blobs.join(digest.hex())
    }
}

/// Returns nothing instead of an error where there is no such file.
fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(it) => Ok(Some(it)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the name of a note; none for a file that is still being written.
fn note_name(root: &Path, path: &Path) -> Option<NoteName> {
    let name = path.strip_prefix(root).ok()?.to_str()?;
    let is_whole = !path.file_name()?.to_str()?.starts_with('.');
    is_whole.then(|| NoteName::listed(name.to_owned()))
}

pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    airside_tasks::blocking("mirror's folder", work)
        .await
        .map_err(io::Error::other)?
}

/// The time of a file is its last use.
fn use_of(path: &Path) -> io::Result<u64> {
    let file = fs::File::open(path)?;
    let about = file.metadata()?;
    if clock::age(about.modified()?) > USED {
        file.set_times(FileTimes::new().set_modified(clock::now()))?;
    }
    Ok(about.len())
}

pub(crate) fn pieces(file: tokio::fs::File, length: u64) -> Pieces {
    Box::pin(stream::try_unfold(
        (file, length),
        |(mut file, left)| async move {
            if left == 0 {
                return Ok(None);
            }
            let mut piece =
                BytesMut::with_capacity(PIECE.min(usize::try_from(left).unwrap_or(PIECE)));
            (&mut file).take(left).read_buf(&mut piece).await?;
            if piece.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let left = left - piece.len() as u64;
            Ok(Some((Bytes::from(piece), (file, left))))
        },
    ))
}

#[async_trait]
impl Storage for Folder {
    async fn size(&self, digest: &Digest) -> io::Result<Option<u64>> {
        let path = self.blob(digest);
        blocking(move || found(use_of(&path))).await
    }

    async fn read(&self, digest: &Digest, from: u64, length: u64) -> io::Result<Pieces> {
        let mut file = tokio::fs::File::open(self.blob(digest)).await?;
        file.seek(io::SeekFrom::Start(from)).await?;
        Ok(pieces(file, length))
    }

    async fn keep(&self, digest: &Digest, file: &Path) -> io::Result<()> {
        let (from, to) = (file.to_owned(), self.blob(digest));
        blocking(move || {
            fs::File::open(&from)?.sync_all()?;
            fs::rename(&from, &to)
        })
        .await
    }

    async fn note(&self, name: &NoteName) -> io::Result<Option<Note>> {
        let path = self.notes.join(name.as_str());
        blocking(move || {
            let read = || {
                Ok(Note {
                    text: fs::read_to_string(&path)?,
                    age: clock::age(fs::metadata(&path)?.modified()?),
                })
            };
            found(read())
        })
        .await
    }

    async fn write_note(&self, name: &NoteName, text: &str) -> io::Result<()> {
        let path = self.notes.join(name.as_str());
        let text = text.to_owned();
        blocking(move || {
            let folder = path.parent().unwrap_or(&path);
            // A rename: a reader sees the whole note or none.
            let part = folder.join(format!(".{:016x}", rand::random::<u64>()));
            let write = || {
                fs::create_dir_all(folder)?;
                fs::write(&part, &text)
            };
            // The folder may have gone at once, as empty ones do.
            write().or_else(|_| write())?;
            fs::rename(&part, &path)
        })
        .await
    }

    async fn notes(&self) -> io::Result<Vec<Noted>> {
        let root = self.notes.clone();
        blocking(move || {
            let mut notes = Vec::new();
            let mut folders = vec![root.clone()];
            while let Some(folder) = folders.pop() {
                for entry in found(fs::read_dir(&folder))?.into_iter().flatten() {
                    let path = entry?.path();
                    let Some(about) = found(fs::metadata(&path))? else {
                        continue;
                    };
                    if about.is_dir() {
                        folders.push(path);
                    } else if let Some(name) = note_name(&root, &path) {
                        let age = clock::age(about.modified()?);
                        notes.push(Noted { name, age });
                    }
                }
            }
            Ok(notes)
        })
        .await
    }

    async fn remove_note(&self, name: &NoteName) -> io::Result<()> {
        let (root, path) = (self.notes.clone(), self.notes.join(name.as_str()));
        blocking(move || {
            found(fs::remove_file(&path))?;
            let mut folders = path.ancestors().skip(1);
            // Up to the first in which there is something else.
            let _ = folders
                .by_ref()
                .take_while(|folder| *folder != root)
                .try_for_each(fs::remove_dir);
            Ok(())
        })
        .await
    }

    async fn list(&self) -> io::Result<Vec<KeptContent>> {
        let folder = self.blobs.clone();
        blocking(move || {
            let mut kept = Vec::new();
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                let name = entry.file_name();
                let digest = Digest::parse(&format!("sha256:{}", name.to_string_lossy()));
                let about = found(entry.metadata())?;
                if let (Ok(digest), Some(about)) = (digest, about) {
                    let (size, used) = (
                        about.len(),
                        about.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                    );
                    kept.push(KeptContent { digest, size, used });
                }
            }
            Ok(kept)
        })
        .await
    }

    async fn remove(&self, digest: &Digest) -> io::Result<()> {
        let path = self.blob(digest);
        blocking(move || found(fs::remove_file(path)).map(drop)).await
    }
}
