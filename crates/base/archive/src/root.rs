//! The destination of an unpack. Every name is resolved by the kernel inside of the root, so that
//! neither `..` nor a symlink that the archive brought (or that stood there before) leads out.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, FileType, Gid, Mode, OFlags, ResolveFlags, Stat, Timespec, Timestamps, Uid},
    io::Errno,
};

use crate::{Error, archive::ArchiveEntry, remove::remove_at};

const DIRECTORY: OFlags = OFlags::DIRECTORY
    .union(OFlags::RDONLY)
    .union(OFlags::CLOEXEC);
const NEW_FILE: OFlags = OFlags::CREATE
    .union(OFlags::EXCL)
    .union(OFlags::WRONLY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Deepest nesting that is walked: deeper than real trees are.
const MAX_DEPTH: usize = 512;

/// An entry's place: a folder inside of the root that is held open, and a plain name in it.
pub(crate) struct TreePlace {
    pub folder: Folder,
    pub name: OsString,
}

/// A file's identity for as long as it is there, whatever its names.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FileId(u64, u64);

impl FileId {
    #[allow(
        clippy::useless_conversion,
        reason = "their types differ between machines"
    )]
    pub(crate) fn of(stat: &Stat) -> Self {
        Self(stat.st_dev.into(), stat.st_ino.into())
    }
}

/// A folder inside of the root, and how far below the root it stands.
pub(crate) struct Folder {
    pub fd: OwnedFd,
    depth: usize,
}

pub(crate) struct Root {
    fd: OwnedFd,
}

impl Root {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let fd = rustix::fs::open(path, DIRECTORY, Mode::empty())
            .map_err(|source| Error::at(path, source))?;
        Ok(Self { fd })
    }

    /// Finds a name's place and makes the folders above it. `None` is the root itself.
    pub(crate) fn place(&self, name: &[u8]) -> Result<Option<TreePlace>, Error> {
        let mut path = relative(name)?;
        let Some(last) = path.file_name().map(OsStr::to_owned) else {
            return Ok(None);
        };
        path.pop();
        let folder = self.folder(&path)?;
        Ok(Some(TreePlace { folder, name: last }))
    }

    /// Finds a name's place as it is: no link is followed and nothing is made. `None` is the root
    /// itself.
    pub(crate) fn place_without_links(&self, name: &[u8]) -> Result<Option<TreePlace>, Error> {
        let mut path = relative(name)?;
        let Some(last) = path.file_name().map(OsStr::to_owned) else {
            return Ok(None);
        };
        path.pop();
        let fd = self
            .resolve(&path, OFlags::empty(), ResolveFlags::NO_SYMLINKS)
            .map_err(|source| Error::at(path.join(&last), source))?;
        let depth = path.components().count();
        Ok(Some(TreePlace {
            folder: Folder { fd, depth },
            name: last,
        }))
    }

    /// Opens a directory, not through a symlink at its end.
    pub(crate) fn directory(&self, name: &[u8]) -> Result<OwnedFd, Error> {
        let path = relative(name)?;
        self.resolve(&path, OFlags::NOFOLLOW, ResolveFlags::empty())
            .map_err(|source| Error::at(path, source))
    }

    /// Opens the folder at `path`, and makes what is missing of it.
    fn folder(&self, path: &Path) -> Result<Folder, Error> {
        let at = |source: io::Error| Error::at(path, source);
        match self.resolve(path, OFlags::empty(), ResolveFlags::NO_SYMLINKS) {
            // Without links a name is as deep as it looks.
            Ok(fd) => {
                let depth = path.components().count();
                Ok(Folder { fd, depth })
            }
            Err(_) => match self.follow(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => self.make_folders(path),
                Err(error) => Err(at(error)),
                Ok(fd) => {
                    let depth = self.depth(&fd).map_err(at)?;
                    Ok(Folder { fd, depth })
                }
            },
        }
    }

    fn make_folders(&self, path: &Path) -> Result<Folder, Error> {
        let at = |source: io::Error| Error::at(path, source);
        let mut current = self.follow(Path::new(".")).map_err(at)?;
        // Known from the first missing folder on: below it nothing can be a link.
        let mut depth = None;
        let mut so_far = PathBuf::new();
        for component in path.components() {
            so_far.push(component);
            current = match self.follow(&so_far) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let above = match depth {
                        Some(depth) => depth,
                        None => self.depth(&current).map_err(at)?,
                    };
                    check_depth(above + 1)?;
                    depth = Some(above + 1);
                    let mode = Mode::from_raw_mode(0o755);
                    rustix::fs::mkdirat(&current, component.as_os_str(), mode)
                        .map_err(|error| at(error.into()))?;
                    self.follow(&so_far).map_err(at)?
                }
                other => other.map_err(at)?,
            };
        }
        let depth = match depth {
            Some(depth) => depth,
            None => self.depth(&current).map_err(at)?,
        };
        Ok(Folder { fd: current, depth })
    }

    /// Counts the folders between the root and `folder`, which is inside of it; counting stops
    /// beyond what is allowed.
    fn depth(&self, folder: &OwnedFd) -> io::Result<usize> {
        let root = FileId::of(&rustix::fs::fstat(&self.fd)?);
        let mut current = folder.try_clone()?;
        for depth in 0..=MAX_DEPTH {
            if FileId::of(&rustix::fs::fstat(&current)?) == root {
                return Ok(depth);
            }
            let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
            current = rustix::fs::openat(&current, "..", flags, Mode::empty())?;
        }
        Ok(MAX_DEPTH + 1)
    }

    fn follow(&self, path: &Path) -> io::Result<OwnedFd> {
        self.resolve(path, OFlags::empty(), ResolveFlags::empty())
    }

    fn resolve(&self, path: &Path, flags: OFlags, how: ResolveFlags) -> io::Result<OwnedFd> {
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        let resolve = how | ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        Ok(rustix::fs::openat2(
            &self.fd,
            path,
            DIRECTORY | flags,
            Mode::empty(),
            resolve,
        )?)
    }
}

/// Makes the folder `path` inside of `root`, as a process whose root that is would see it: symlinks
/// never lead out. Gives it opened.
pub fn make_folder(root: &Path, path: &Path) -> Result<OwnedFd, Error> {
    let inside = relative(path.as_os_str().as_bytes())?;
    Ok(Root::open(root)?.folder(&inside)?.fd)
}

/// An archive's name without what does not matter: leading slashes and dots.
fn relative(name: &[u8]) -> Result<PathBuf, Error> {
    let mut path = PathBuf::new();
    for part in name.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                let name = String::from_utf8_lossy(name).into_owned();
                return Err(Error::Escapes { name });
            }
            part if part.contains(&0) => return Err(Error::damaged("a name holds a zero byte")),
            part => path.push(OsStr::from_bytes(part)),
        }
    }
    check_depth(path.components().count())?;
    Ok(path)
}

fn check_depth(depth: usize) -> Result<(), Error> {
    if depth > MAX_DEPTH {
        return Err(Error::damaged(format!(
            "a name is nested more than {MAX_DEPTH} folders deep"
        )));
    }
    Ok(())
}

impl TreePlace {
    /// Returns the type of the file that is here, if there is one.
    pub(crate) fn kind(&self) -> io::Result<Option<FileType>> {
        match rustix::fs::statat(&self.folder.fd, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes what stands here, with all below it; nothing there is fine.
    pub(crate) fn remove(&self) -> io::Result<()> {
        remove_at(&self.folder.fd, &self.name)
    }

    /// Refuses a folder here that would be nested too deep, wherever links led.
    pub(crate) fn check_depth(&self) -> Result<(), Error> {
        check_depth(self.folder.depth + 1)
    }

    pub(crate) fn make_directory(&self) -> io::Result<()> {
        if self.kind()? == Some(FileType::Directory) {
            return Ok(());
        }
        self.remove()?;
        let mode = Mode::from_raw_mode(0o700);
        Ok(rustix::fs::mkdirat(&self.folder.fd, &self.name, mode)?)
    }

    pub(crate) fn make_file(&self) -> io::Result<File> {
        self.remove()?;
        let mode = Mode::from_raw_mode(0o600);
        Ok(rustix::fs::openat(&self.folder.fd, &self.name, NEW_FILE, mode)?.into())
    }

    pub(crate) fn make_symlink(&self, target: &[u8]) -> io::Result<()> {
        self.remove()?;
        Ok(rustix::fs::symlinkat(
            OsStr::from_bytes(target),
            &self.folder.fd,
            &self.name,
        )?)
    }

    pub(crate) fn make_fifo(&self, mode: u32) -> io::Result<()> {
        self.remove()?;
        let mode = Mode::from_raw_mode(mode);
        Ok(rustix::fs::mknodat(
            &self.folder.fd,
            &self.name,
            FileType::Fifo,
            mode,
            0,
        )?)
    }

    pub(crate) fn make_link(&self, to: &Self) -> io::Result<()> {
        let flags = AtFlags::empty();
        let link =
            || rustix::fs::linkat(&to.folder.fd, &to.name, &self.folder.fd, &self.name, flags);
        match link() {
            Err(Errno::EXIST) => {}
            other => return Ok(other?),
        }
        if self.same_file(to)? {
            return Ok(());
        }
        self.remove()?;
        Ok(link()?)
    }

    fn same_file(&self, other: &Self) -> io::Result<bool> {
        Ok(self.identity()? == other.identity()?)
    }

    /// The file that stands here, not followed if it is a link.
    pub(crate) fn identity(&self) -> io::Result<FileId> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let stat = rustix::fs::statat(&self.folder.fd, &self.name, flags)?;
        Ok(FileId::of(&stat))
    }

    /// Owner and time without following a link; the owner only as far as we may.
    pub(crate) fn dress_link(&self, entry: &ArchiveEntry) -> io::Result<()> {
        let (uid, gid) = owner(entry);
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        permitted(rustix::fs::chownat(
            &self.folder.fd,
            &self.name,
            uid,
            gid,
            flags,
        ))?;
        Ok(rustix::fs::utimensat(
            &self.folder.fd,
            &self.name,
            &times(entry.mtime),
            flags,
        )?)
    }
}

/// Owner, mode and time, in this order: changing the owner clears set-id bits, writing the time.
pub(crate) fn dress(fd: &impl rustix::fd::AsFd, entry: &ArchiveEntry) -> io::Result<()> {
    let (uid, gid) = owner(entry);
    permitted(rustix::fs::fchown(fd, uid, gid))?;
    rustix::fs::fchmod(fd, Mode::from_raw_mode(entry.mode))?;
    Ok(rustix::fs::futimens(fd, &times(entry.mtime))?)
}

/// Ignores a refusal to give a file away: without that right, or with an id that this user
/// namespace does not know, files stay ours.
fn permitted(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Err(Errno::PERM | Errno::INVAL) => Ok(()),
        other => Ok(other?),
    }
}

fn owner(entry: &ArchiveEntry) -> (Option<Uid>, Option<Gid>) {
    // All ones means "leave as it is" to the kernel; no account has this number.
    let known = |id: u32| (id != u32::MAX).then_some(id);
    (
        known(entry.uid).map(Uid::from_raw),
        known(entry.gid).map(Gid::from_raw),
    )
}

fn times(mtime: u64) -> Timestamps {
    let time = Timespec {
        tv_sec: i64::try_from(mtime).unwrap_or(i64::MAX),
        tv_nsec: 0,
    };
    Timestamps {
        last_access: time,
        last_modification: time,
    }
}
