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
    fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, ResolveFlags, Timespec, Timestamps, Uid},
    io::Errno,
};

use crate::{Error, archive::Entry};

const DIRECTORY: OFlags = OFlags::DIRECTORY
    .union(OFlags::RDONLY)
    .union(OFlags::CLOEXEC);
const NEW_FILE: OFlags = OFlags::CREATE
    .union(OFlags::EXCL)
    .union(OFlags::WRONLY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Deeper than anybody nests folders, and shallow enough to walk and remove.
const MAX_DEPTH: usize = 512;

/// An entry's place: a folder inside of the root that is held open, and a plain name in it.
pub(crate) struct Place {
    pub folder: OwnedFd,
    pub name: OsString,
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
    pub(crate) fn place(&self, name: &[u8]) -> Result<Option<Place>, Error> {
        let mut path = relative(name)?;
        let Some(last) = path.file_name().map(OsStr::to_owned) else {
            return Ok(None);
        };
        path.pop();
        let folder = self
            .folder(&path)
            .map_err(|source| Error::at(path.join(&last), source))?;
        Ok(Some(Place { folder, name: last }))
    }

    /// Opens a directory, not through a symlink at its end.
    pub(crate) fn directory(&self, name: &[u8]) -> Result<OwnedFd, Error> {
        let path = relative(name)?;
        self.resolve(&path, OFlags::NOFOLLOW)
            .map_err(|source| Error::at(path, source))
    }

    fn folder(&self, path: &Path) -> io::Result<OwnedFd> {
        match self.resolve(path, OFlags::empty()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.make_folders(path),
            other => other,
        }
    }

    fn make_folders(&self, path: &Path) -> io::Result<OwnedFd> {
        let mut current = self.resolve(Path::new("."), OFlags::empty())?;
        let mut so_far = PathBuf::new();
        for component in path.components() {
            so_far.push(component);
            current = match self.resolve(&so_far, OFlags::empty()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let mode = Mode::from_raw_mode(0o755);
                    rustix::fs::mkdirat(&current, component.as_os_str(), mode)?;
                    self.resolve(&so_far, OFlags::empty())?
                }
                other => other?,
            };
        }
        Ok(current)
    }

    fn resolve(&self, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
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
    Root::open(root)?
        .folder(&inside)
        .map_err(|source| Error::at(path, source))
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
    if path.components().count() > MAX_DEPTH {
        return Err(Error::damaged(format!(
            "a name is nested more than {MAX_DEPTH} folders deep"
        )));
    }
    Ok(path)
}

impl Place {
    /// What stands here, if anything.
    pub(crate) fn kind(&self) -> io::Result<Option<FileType>> {
        match rustix::fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes what stands here, with all below it; nothing there is fine.
    pub(crate) fn remove(&self) -> io::Result<()> {
        match self.kind()? {
            None => Ok(()),
            Some(FileType::Directory) => {
                let flags = DIRECTORY | OFlags::NOFOLLOW;
                empty(&rustix::fs::openat(
                    &self.folder,
                    &self.name,
                    flags,
                    Mode::empty(),
                )?)?;
                Ok(rustix::fs::unlinkat(
                    &self.folder,
                    &self.name,
                    AtFlags::REMOVEDIR,
                )?)
            }
            Some(_) => Ok(rustix::fs::unlinkat(
                &self.folder,
                &self.name,
                AtFlags::empty(),
            )?),
        }
    }

    pub(crate) fn make_directory(&self) -> io::Result<()> {
        if self.kind()? == Some(FileType::Directory) {
            return Ok(());
        }
        self.remove()?;
        Ok(rustix::fs::mkdirat(
            &self.folder,
            &self.name,
            Mode::from_raw_mode(0o700),
        )?)
    }

    pub(crate) fn make_file(&self) -> io::Result<File> {
        self.remove()?;
        let mode = Mode::from_raw_mode(0o600);
        Ok(rustix::fs::openat(&self.folder, &self.name, NEW_FILE, mode)?.into())
    }

    pub(crate) fn make_symlink(&self, target: &[u8]) -> io::Result<()> {
        self.remove()?;
        Ok(rustix::fs::symlinkat(
            OsStr::from_bytes(target),
            &self.folder,
            &self.name,
        )?)
    }

    pub(crate) fn make_fifo(&self, mode: u32) -> io::Result<()> {
        self.remove()?;
        let mode = Mode::from_raw_mode(mode);
        Ok(rustix::fs::mknodat(
            &self.folder,
            &self.name,
            FileType::Fifo,
            mode,
            0,
        )?)
    }

    pub(crate) fn make_link(&self, to: &Self) -> io::Result<()> {
        let flags = AtFlags::empty();
        let link = || rustix::fs::linkat(&to.folder, &to.name, &self.folder, &self.name, flags);
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
        let stat = |place: &Self| {
            rustix::fs::statat(&place.folder, &place.name, AtFlags::SYMLINK_NOFOLLOW)
        };
        let (a, b) = (stat(self)?, stat(other)?);
        Ok((a.st_dev, a.st_ino) == (b.st_dev, b.st_ino))
    }

    /// Owner and time without following a link; the owner only as far as we may.
    pub(crate) fn dress_link(&self, entry: &Entry) -> io::Result<()> {
        let (uid, gid) = owner(entry);
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        permitted(rustix::fs::chownat(
            &self.folder,
            &self.name,
            uid,
            gid,
            flags,
        ))?;
        Ok(rustix::fs::utimensat(
            &self.folder,
            &self.name,
            &times(entry.mtime),
            flags,
        )?)
    }
}

/// Owner, mode and time, in this order: changing the owner clears set-id bits, writing the time.
pub(crate) fn dress(fd: &impl rustix::fd::AsFd, entry: &Entry) -> io::Result<()> {
    let (uid, gid) = owner(entry);
    permitted(rustix::fs::fchown(fd, uid, gid))?;
    rustix::fs::fchmod(fd, Mode::from_raw_mode(entry.mode))?;
    Ok(rustix::fs::futimens(fd, &times(entry.mtime))?)
}

/// Without the right to give files away, or with an id that this user namespace does not know, they
/// stay ours.
fn permitted(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Err(Errno::PERM | Errno::INVAL) => Ok(()),
        other => Ok(other?),
    }
}

fn owner(entry: &Entry) -> (Option<Uid>, Option<Gid>) {
    // All ones means "leave as it is" to the kernel; nobody owns files under it.
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

/// Removes everything in a directory, by descriptors only.
pub(crate) fn empty(dir: &OwnedFd) -> io::Result<()> {
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
        if name != "." && name != ".." {
            Place {
                folder: dir.try_clone()?,
                name,
            }
            .remove()?;
        }
    }
    Ok(())
}
