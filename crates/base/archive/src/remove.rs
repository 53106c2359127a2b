//! Removes trees that strangers made, however deep they nest.
//!
//! `std::fs::remove_dir_all` holds a descriptor and a part of the stack for each level, so a tree
//! of a few thousand folders defeats it. Here a folder that is not empty gives its folders to the
//! top of the tree and goes; each folder moves once, and a handful of descriptors is enough for any
//! depth.

use std::{
    ffi::{CStr, OsStr},
    fs, io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
    thread,
};

use rustix::{
    fs::{AtFlags, CWD, Dir, DirEntry, FileType, Mode, OFlags},
    io::Errno,
};

const FOLDER: OFlags = OFlags::DIRECTORY
    .union(OFlags::RDONLY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Levels that may be walked where folders cannot be moved: overlayfs does not move those of its
/// lower layers.
const UNMOVABLE_LEVELS: u32 = 32;
/// Tries for a tree into which a dying process still writes.
const TRIES: u32 = 10;
const ASIDE: &str = ".old-";

/// Removes what stands at `path` with all below it: a tree of any depth, a file, or a link, which
/// is not followed. Nothing there is fine.
pub fn remove(path: &Path) -> io::Result<()> {
    remove_counted(path, &mut || {})
}

/// Removes as [`remove`] does, and calls `removed` after each entry of a folder that it removed:
/// the caller may pause there.
pub fn remove_counted(path: &Path, removed: &mut dyn FnMut()) -> io::Result<()> {
    let Some(name) = path.file_name() else {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{} does not end in a name", path.display()),
        ));
    };
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
    match rustix::fs::openat(CWD, parent, flags, Mode::empty()) {
        Ok(parent) => remove_at_counted(&parent, name, removed),
        Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Removes everything in the folder `path`, and leaves the folder.
pub fn clear(path: &Path) -> io::Result<()> {
    empty(&rustix::fs::openat(CWD, path, FOLDER, Mode::empty())?)
}

/// Renames the folder `path` away and removes it on a thread of its own, with what earlier calls
/// could not remove. So no rubbish keeps a server from starting. A path where nothing stands is
/// fine.
pub fn set_aside(path: &Path) -> io::Result<()> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(ASIDE);
    for number in 0_u64.. {
        let mut free = aside.clone();
        free.push(number.to_string());
        match rename(path, Path::new(&free)) {
            Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
            Err(Errno::NOENT) => break,
            other => {
                other?;
                break;
            }
        }
    }
    let rubbish = set_aside_before(path)?;
    if !rubbish.is_empty() {
        thread::Builder::new()
            .name("remove-rubbish".to_owned())
            .spawn(move || {
                for path in rubbish {
                    // Where this fails, the next start tries again.
                    let _ = remove(&path);
                }
            })?;
    }
    Ok(())
}

fn rename(from: &Path, to: &Path) -> rustix::io::Result<()> {
    rustix::fs::renameat(CWD, from, CWD, to)
}

/// Lists what [`set_aside`] made of `path` and is still there.
fn set_aside_before(path: &Path) -> io::Result<Vec<PathBuf>> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(Vec::new());
    };
    let entries = match fs::read_dir(parent) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let is_aside = |found: &OsStr| {
        let rest = found.as_bytes().strip_prefix(name.as_bytes());
        rest.and_then(|rest| rest.strip_prefix(ASIDE.as_bytes()))
            .is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        if is_aside(&entry.file_name()) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// Removes the entry `name` of `folder` with all below it; nothing there is fine.
pub(crate) fn remove_at(folder: &OwnedFd, name: &OsStr) -> io::Result<()> {
    remove_at_counted(folder, name, &mut || {})
}

fn remove_at_counted(folder: &OwnedFd, name: &OsStr, removed: &mut dyn FnMut()) -> io::Result<()> {
    for _ in 0..TRIES {
        match remove_once(folder, name, removed) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Errno::NOTEMPTY.into())
}

fn remove_once(
    folder: &OwnedFd,
    name: &OsStr,
    removed: &mut dyn FnMut(),
) -> rustix::io::Result<()> {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return rustix::fs::unlinkat(folder, name, AtFlags::empty());
    }
    if !is_full(rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR))? {
        return Ok(());
    }
    let inner = rustix::fs::openat(folder, name, FOLDER, Mode::empty())?;
    empty_within(&inner, UNMOVABLE_LEVELS, removed)?;
    rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)
}

/// Removes everything in a folder, by descriptors only.
pub(crate) fn empty(folder: &OwnedFd) -> io::Result<()> {
    Ok(empty_within(folder, UNMOVABLE_LEVELS, &mut || {})?)
}

fn empty_within(top: &OwnedFd, levels: u32, removed: &mut dyn FnMut()) -> rustix::io::Result<()> {
    let mut lift = Lift {
        top,
        levels,
        next: 0,
        removed,
    };
    // What was moved to the top is seen by a later pass at the latest.
    while lift.pass()? {}
    Ok(())
}

/// One folder that is being emptied, to which folders from below are moved.
struct Lift<'a> {
    top: &'a OwnedFd,
    levels: u32,
    next: u64,
    /// Called after each entry.
    removed: &'a mut dyn FnMut(),
}

impl Lift<'_> {
    /// Removes every entry that the top has now. True if entries from below took their place.
    fn pass(&mut self) -> rustix::io::Result<bool> {
        let before = self.next;
        for entry in Dir::read_from(self.top)? {
            let entry = entry?;
            let name = entry.file_name();
            if !is_dots(name) && is_full(self.remove_entry(self.top, &entry))? {
                let folder = rustix::fs::openat(self.top, name, FOLDER, Mode::empty())?;
                self.lift(&folder)?;
                gone(rustix::fs::unlinkat(self.top, name, AtFlags::REMOVEDIR))?;
            }
        }
        Ok(self.next != before)
    }

    /// Empties a folder of the top: its folders that are not empty move up.
    fn lift(&mut self, folder: &OwnedFd) -> rustix::io::Result<()> {
        for entry in Dir::read_from(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if is_dots(name) || !is_full(self.remove_entry(folder, &entry))? {
                continue;
            }
            match self.move_up(folder, name) {
                Err(Errno::XDEV) if self.levels > 0 => {
                    let inner = rustix::fs::openat(folder, name, FOLDER, Mode::empty())?;
                    empty_within(&inner, self.levels - 1, self.removed)?;
                    gone(rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR))?;
                }
                other => other?,
            }
        }
        Ok(())
    }

    fn remove_entry(&mut self, folder: &OwnedFd, entry: &DirEntry) -> rustix::io::Result<()> {
        let outcome = remove_entry(folder, entry);
        (self.removed)();
        outcome
    }

    fn move_up(&mut self, from: &OwnedFd, name: &CStr) -> rustix::io::Result<()> {
        loop {
            let free = format!(".airside-removes-{}", self.next);
            self.next += 1;
            match rustix::fs::renameat(from, name, self.top, free.as_str()) {
                // The stranger has something of this name.
                Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                other => return gone(other),
            }
        }
    }
}

/// Removes a file, a link or an empty folder.
fn remove_entry(folder: &OwnedFd, entry: &DirEntry) -> rustix::io::Result<()> {
    let name = entry.file_name();
    let kind = match entry.file_type() {
        FileType::Unknown => match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => FileType::from_raw_mode(stat.st_mode),
            Err(error) => return gone(Err(error)),
        },
        known => known,
    };
    let flags = match kind {
        FileType::Directory => AtFlags::REMOVEDIR,
        _ => AtFlags::empty(),
    };
    gone(rustix::fs::unlinkat(folder.as_fd(), name, flags))
}

/// True if a folder stayed because something is in it.
fn is_full(removed: rustix::io::Result<()>) -> rustix::io::Result<bool> {
    match removed {
        Ok(()) => Ok(false),
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(true),
        Err(error) => Err(error),
    }
}

fn gone(removed: rustix::io::Result<()>) -> rustix::io::Result<()> {
    match removed {
        Err(Errno::NOENT) => Ok(()),
        other => other,
    }
}

fn is_dots(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}
