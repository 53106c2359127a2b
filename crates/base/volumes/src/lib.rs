//! Volumes: sealed directory trees on this machine's disk.
//!
//! ```text
//! root/live/<id>/   sealed; never changed again, only removed
//! root/tmp/…        being received or removed
//! root/tmp.old-…    left by an interrupted run; removed while the server runs
//! ```
//!
//! A tree becomes a volume by one rename, so it is either whole or not there. Everything here
//! blocks: async callers use a blocking thread. What a volume is for, and who may read it, is
//! decided elsewhere.

mod disk;
mod error;
mod fast_gzip;
mod file;
mod gzip;
mod held_file;
mod own_folder;
mod pace;
mod receive;
mod size;
mod spread;

use std::{
    collections::HashMap,
    fs, io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use airside_model::VolumeId;
use rustix::fs::{CWD, RenameFlags};

use crate::pace::{OtherWork, Pace};

pub use airside_model::Bytes;
pub use disk::{Disk, Percent, Watermarks};
pub use error::Error;
pub use held_file::{hold, take_unheld};
pub use own_folder::OwnFolder;
pub use receive::Receiving;
pub use size::of as size_of;
pub use spread::spread_folders;

/// A handle to the store; clones share it.
#[derive(Clone, Debug)]
pub struct Volumes {
    inner: Arc<Inner>,
    marks: Watermarks,
}

#[derive(Debug)]
struct Inner {
    live: PathBuf,
    tmp: PathBuf,
    next: AtomicU64,
    /// Trees elsewhere that count as volumes.
    lent: Mutex<HashMap<VolumeId, PathBuf>>,
    /// Trees that are being received.
    receiving: AtomicUsize,
}

impl Volumes {
    /// Opens the store, for one process at a time. What an interrupted run left half-made is set
    /// aside and removed meanwhile, so that no rubbish keeps a server from starting.
    pub fn open(root: &Path) -> Result<Self, Error> {
        let (live, tmp) = (root.join("live"), root.join("tmp"));
        airside_archive::set_aside(&tmp).map_err(Error::at("sweep", &tmp))?;
        for dir in [&live, &tmp] {
            // Trees hold files of any owner and with any bits: other users must not walk in.
            let mut builder = fs::DirBuilder::new();
            builder
                .recursive(true)
                .mode(0o700)
                .create(dir)
                .map_err(Error::at("make", dir))?;
        }
        spread_folders(&tmp);
        Ok(Self {
            inner: Arc::new(Inner {
                live,
                tmp,
                next: AtomicU64::new(0),
                lent: Mutex::default(),
                receiving: AtomicUsize::new(0),
            }),
            marks: Watermarks::default(),
        })
    }

    /// Sets the marks for the use of the disk.
    #[must_use]
    pub fn with_marks(self, marks: Watermarks) -> Self {
        Self { marks, ..self }
    }

    pub fn marks(&self) -> Watermarks {
        self.marks
    }

    /// The disk that the volumes are on.
    pub fn disk(&self) -> Result<Disk, Error> {
        Disk::of(&self.inner.live).map_err(Error::at("measure", &self.inner.live))
    }

    /// Makes a tree that lies elsewhere a volume for as long as this process lives. It is not moved
    /// and not removed; the caller keeps it as it is.
    pub fn lend(&self, id: &VolumeId, tree: &Path) -> Result<(), Error> {
        self.place(id)?;
        self.lent().insert(id.clone(), tree.to_owned());
        Ok(())
    }

    /// Returns true if the volume is a tree that lies elsewhere.
    pub fn is_lent(&self, id: &VolumeId) -> bool {
        self.lent().contains_key(id)
    }

    fn lent(&self) -> MutexGuard<'_, HashMap<VolumeId, PathBuf>> {
        self.inner
            .lent
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the path of a sealed volume. It must not be written to.
    pub fn path(&self, id: &VolumeId) -> Option<PathBuf> {
        let lent = self.lent().get(id).cloned();
        let path = lent.or_else(|| self.place(id).ok());
        path.filter(|path| path.is_dir())
    }

    pub fn exists(&self, id: &VolumeId) -> bool {
        self.path(id).is_some()
    }

    /// Makes `dir`, which must be on the same file system, the volume `id`. If that is sealed
    /// already it stays as it is, and `dir` is removed.
    pub fn adopt(&self, dir: &Path, id: &VolumeId) -> Result<(), Error> {
        let place = self.place(id)?;
        match rustix::fs::renameat_with(CWD, dir, CWD, &place, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(()),
            Err(rustix::io::Errno::EXIST) => self.discard(dir),
            Err(rustix::io::Errno::NOENT) if place.is_dir() => Ok(()),
            Err(rustix::io::Errno::XDEV) => Err(Error::OtherFileSystem {
                dir: dir.to_owned(),
                store: place,
            }),
            Err(source) => Err(Error::at("seal", dir)(source.into())),
        }
    }

    /// Begins to receive the volume `id`: see [`Receiving`].
    pub fn receive(&self, id: &VolumeId) -> Result<Receiving, Error> {
        self.place(id)?;
        let dir = self.fresh();
        fs::create_dir(&dir).map_err(Error::at("make", &dir))?;
        Ok(Receiving::new(self.clone(), id.clone(), dir))
    }

    /// The bytes of the disk that the volume takes.
    pub fn size(&self, id: &VolumeId) -> Result<u64, Error> {
        let place = match self.lent().get(id) {
            Some(tree) => tree.clone(),
            None => self.place(id)?,
        };
        size::of(&place).map_err(Error::at("measure", &place))
    }

    /// Writes the volume as a packed stream.
    pub fn send(&self, id: &VolumeId, out: impl io::Write) -> Result<(), Error> {
        let path = self
            .path(id)
            .ok_or_else(|| Error::Missing { id: id.clone() })?;
        airside_archive::pack(&path, out).map_err(|source| Error::Stream {
            id: id.clone(),
            source,
        })
    }

    /// Removes a volume; gone already is fine. A tree that lies elsewhere is only forgotten.
    pub fn remove(&self, id: &VolumeId) -> Result<(), Error> {
        if self.lent().remove(id).is_some() {
            return Ok(());
        }
        self.discard(&self.place(id)?)
    }

    pub fn list(&self) -> Result<Vec<VolumeId>, Error> {
        let at = Error::at("list", &self.inner.live);
        let names = fs::read_dir(&self.inner.live)
            .and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect());
        let names: Vec<_> = names.map_err(at)?;
        Ok(names
            .into_iter()
            .filter_map(|name| name.into_string().ok())
            .map(VolumeId)
            .collect())
    }

    /// Removes in two moves, so that a crash in between leaves no half of a volume.
    fn discard(&self, dir: &Path) -> Result<(), Error> {
        let away = self.fresh();
        match fs::rename(dir, &away) {
            Ok(()) => self.remove_tree(&away).map_err(Error::at("remove", &away)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(Error::at("remove", dir)(error)),
        }
    }

    /// Removes a tree that is not a volume any more. What is being received goes first, as long as
    /// the disk has room for it.
    fn remove_tree(&self, away: &Path) -> io::Result<()> {
        let mut pace = Pace::begin();
        airside_archive::remove_counted(away, &mut || pace.note_removed(|| self.other_work()))
    }

    fn other_work(&self) -> OtherWork {
        OtherWork {
            receiving: self.inner.receiving.load(Ordering::Relaxed) > 0,
            room_is_short: self.disk().is_ok_and(|disk| disk.is_above(self.marks.low)),
        }
    }

    fn fresh(&self) -> PathBuf {
        self.inner
            .tmp
            .join(self.inner.next.fetch_add(1, Ordering::Relaxed).to_string())
    }

    fn place(&self, id: &VolumeId) -> Result<PathBuf, Error> {
        let text = id.as_str();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if text.is_empty() || text.len() > 200 || text.starts_with('.') || !text.chars().all(plain)
        {
            return Err(Error::BadId { id: id.clone() });
        }
        Ok(self.inner.live.join(text))
    }
}
