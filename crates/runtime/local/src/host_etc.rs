//! A copy of the machine's `/etc` without its secrets, for steps with the host's image.
//!
//! A step's root is root to these files. The files' own modes decide instead of a list of names:
//! only what every user may read is copied. A secret that is made while a step runs is not in the
//! copy, so the step never sees it. One copy serves all steps until something changes in `/etc`.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW};

/// Everybody may read it.
const READABLE: u32 = 0o004;
/// Everybody may read it and walk through.
const OPEN: u32 = 0o005;
/// A copy that was used within this time may be about to be mounted.
const IN_USE: Duration = Duration::from_secs(3600);

static NEXT: AtomicU64 = AtomicU64::new(0);

/// A file that every user may read, by its path below the folder.
struct Open {
    path: PathBuf,
    metadata: fs::Metadata,
}

/// Returns the copy of `folder` as it is now, one of those in `copies`, and makes it if need be.
/// Old copies are removed, except those that a plan below `containers` names.
pub(crate) fn copy_of(folder: &Path, copies: &Path, containers: &Path) -> io::Result<PathBuf> {
    let mut open = Vec::new();
    find_open(folder, Path::new(""), &mut open)?;
    let name = format!("{:016x}", fingerprint(&open));
    let place = copies.join(&name);
    if !place.is_dir() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(copies)?;
        sweep(copies, containers)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let fresh = copies.join(format!(".new-{}-{number}", std::process::id()));
        let made = make(folder, &fresh, &open).and_then(|()| fs::rename(&fresh, &place));
        if let Err(error) = made {
            airside_archive::remove(&fresh)?;
            // Unless another step was quicker.
            if !place.is_dir() {
                return Err(error);
            }
        }
    }
    touch(&place)?;
    Ok(place)
}

fn make(folder: &Path, fresh: &Path, open: &[Open]) -> io::Result<()> {
    airside_archive::remove(fresh)?;
    fs::create_dir(fresh)?;
    for entry in open {
        copy(folder, fresh, entry)?;
    }
    like(fresh, &fs::metadata(folder)?)
}

fn find_open(folder: &Path, below: &Path, open: &mut Vec<Open>) -> io::Result<()> {
    let mut names: Vec<_> = fs::read_dir(folder.join(below))?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<_, _>>()?;
    names.sort();
    for name in names {
        let path = below.join(name);
        let metadata = match fs::symlink_metadata(folder.join(&path)) {
            // It was removed just now.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => other?,
        };
        let (kind, mode) = (metadata.file_type(), metadata.permissions().mode());
        let is_open = kind.is_symlink()
            || kind.is_file() && mode & READABLE == READABLE
            || kind.is_dir() && mode & OPEN == OPEN;
        if is_open {
            open.push(Open {
                path: path.clone(),
                metadata,
            });
        }
        if is_open && kind.is_dir() {
            find_open(folder, &path, open)?;
        }
    }
    Ok(())
}

/// Equal as long as nothing of it changed.
fn fingerprint(open: &[Open]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for Open { path, metadata } in open {
        path.hash(&mut hasher);
        (metadata.ino(), metadata.mode(), metadata.size()).hash(&mut hasher);
        (metadata.ctime(), metadata.ctime_nsec()).hash(&mut hasher);
    }
    hasher.finish()
}

fn copy(folder: &Path, to: &Path, entry: &Open) -> io::Result<()> {
    let (from, to) = (folder.join(&entry.path), to.join(&entry.path));
    let kind = entry.metadata.file_type();
    let copied = if kind.is_dir() {
        fs::create_dir(&to)
    } else if kind.is_symlink() {
        fs::read_link(&from).and_then(|target| symlink(target, &to))
    } else {
        copy_file(&from, &to)
    };
    match copied {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(()) if kind.is_symlink() => Ok(()),
        Ok(()) => like(&to, &entry.metadata),
    }
}

/// Copies a file if every user may still read it: it may have been closed since it was found.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = fs::File::open(from)?;
    if source.metadata()?.permissions().mode() & READABLE == 0 {
        return Err(io::ErrorKind::NotFound.into());
    }
    io::copy(&mut source, &mut fs::File::create(to)?).map(drop)
}

/// Gives a path the owner and the mode of another. An owner that an ordinary user's namespace does
/// not know stays out of it.
fn like(path: &Path, model: &fs::Metadata) -> io::Result<()> {
    let _ = std::os::unix::fs::lchown(path, Some(model.uid()), Some(model.gid()));
    fs::set_permissions(path, model.permissions())
}

/// Marks a copy as used now.
fn touch(place: &Path) -> io::Result<()> {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    let times = Timestamps {
        last_access: now,
        last_modification: now,
    };
    Ok(rustix::fs::utimensat(
        CWD,
        place,
        &times,
        AtFlags::SYMLINK_NOFOLLOW,
    )?)
}

/// Removes copies that nothing uses any more.
fn sweep(copies: &Path, containers: &Path) -> io::Result<()> {
    let plans: Vec<String> = fs::read_dir(containers)?
        .flatten()
        .filter_map(|entry| fs::read_to_string(entry.path().join("plan.json")).ok())
        .collect();
    for entry in fs::read_dir(copies)?.flatten() {
        let used = entry.metadata()?.modified()?.elapsed().unwrap_or_default();
        let name = entry.file_name().to_string_lossy().into_owned();
        if used > IN_USE && !plans.iter().any(|plan| plan.contains(&name)) {
            airside_archive::remove(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str, mode: u32) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_copy_has_what_is_open_and_is_made_anew_when_that_changes() {
        let root = tempfile::tempdir().unwrap();
        let (etc, copies) = (root.path().join("etc"), root.path().join("copies"));
        let containers = root.path().join("containers");
        fs::create_dir(&containers).unwrap();
        write(&etc.join("hosts"), "h", 0o644);
        write(&etc.join("shadow"), "s", 0o640);
        write(&etc.join("ssl/open"), "o", 0o644);
        write(&etc.join("closed/inner"), "i", 0o644);
        fs::set_permissions(etc.join("closed"), fs::Permissions::from_mode(0o700)).unwrap();
        symlink("hosts", etc.join("link")).unwrap();
        let copy = || copy_of(&etc, &copies, &containers).unwrap();
        let first = copy();
        let there = |name: &str| fs::symlink_metadata(first.join(name)).is_ok();
        assert!(there("hosts") && there("ssl/open") && there("link"));
        assert!(!there("shadow") && !there("closed"));
        assert_eq!(copy(), first, "nothing changed");
        write(&etc.join("late-secret"), "s", 0o600);
        assert_eq!(copy(), first, "secrets are not news");
        write(&etc.join("late"), "l", 0o644);
        let second = copy();
        assert!(second != first && second.join("late").exists());
    }

    #[test]
    fn copies_that_nothing_uses_go() {
        let root = tempfile::tempdir().unwrap();
        let (copies, containers) = (root.path().join("copies"), root.path().join("containers"));
        for name in ["used", "old", "new"] {
            fs::create_dir_all(copies.join(name)).unwrap();
        }
        fs::create_dir_all(containers.join("s-1")).unwrap();
        fs::write(containers.join("s-1/plan.json"), "copies/used").unwrap();
        for name in ["used", "old"] {
            let times = fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH);
            let folder = fs::File::open(copies.join(name)).unwrap();
            folder.set_times(times).unwrap();
        }
        sweep(&copies, &containers).unwrap();
        assert!(copies.join("used").exists() && copies.join("new").exists());
        assert!(!copies.join("old").exists());
    }
}
