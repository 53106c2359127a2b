//! The folders of checkers: one folder for each server, locked while the server lives. A killed
//! server cannot remove its own; the next one that starts does, whichever it is.

use std::{
    fs::{self, File, Permissions},
    io,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    time::Duration,
};

use airside_model::chain;
use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;
use tracing::{debug, info};

const PREFIX: &str = "airside-checkers-";
/// Prefix of a folder that is not locked yet, so that no server takes it for a dead one.
const UNFINISHED: &str = ".airside-checkers-";
const LOCK: &str = "lock";
/// Age at which an unfinished folder counts as abandoned.
const ABANDONED: Duration = Duration::from_secs(3600);

/// The folder of this server. Goes with it.
pub(crate) struct Scratch {
    dir: TempDir,
    _lock: File,
}

impl Scratch {
    /// Makes one below `parent`, and removes those of dead servers there.
    pub(crate) fn open(parent: &Path) -> io::Result<Self> {
        sweep(parent);
        // Any user must be able to come through, and none to look around.
        let unfinished = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .permissions(Permissions::from_mode(0o711))
            .tempdir_in(parent)?;
        let lock = File::create(unfinished.path().join(LOCK))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        // Onto an empty folder: the name is ours already.
        fs::rename(unfinished.keep(), dir.path())?;
        Ok(Self { dir, _lock: lock })
    }

    /// A folder for one checker.
    pub(crate) fn folder(&self) -> io::Result<Folder> {
        let mut builder = tempfile::Builder::new();
        let made = builder
            .prefix("airside-checker-")
            .tempdir_in(self.dir.path());
        made.map(Folder)
    }
}

/// The folder of one checker. It goes with this value, however deep the trees are that strangers
/// made in it.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = airside_archive::remove(self.path()) {
            let folder = self.path().display();
            debug!(%folder, error = %chain(&error), "folder of a checker not removed");
        }
    }
}

/// Removes the folders of servers that do not live any more.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let removed = if name.starts_with(PREFIX) {
            remove_dead(&path)
        } else if name.starts_with(UNFINISHED) && is_old(&entry) {
            airside_archive::remove(&path).map(|()| true)
        } else {
            continue;
        };
        match removed {
            Ok(true) => {
                info!(folder = %path.display(), "folder of a killed server's checkers removed")
            }
            Ok(false) => {}
            Err(error) => {
                let folder = path.display();
                debug!(%folder, error = %chain(&error), "folder of checkers not removed");
            }
        }
    }
}

/// Removes a folder whose lock no server holds, and returns true if it did. A folder without a lock
/// is empty, left by a server that was killed at that very moment, and is removed as an empty one:
/// where a living server is about to put its own, or just has, no harm is done.
fn remove_dead(path: &Path) -> io::Result<bool> {
    match File::open(path.join(LOCK)) {
        Ok(lock) if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() => Ok(false),
        Ok(_lock) => airside_archive::remove(path).map(|()| true),
        Err(_) => fs::remove_dir(path).map(|()| true),
    }
}

/// Returns true if an unfinished folder is abandoned: finishing takes a moment.
fn is_old(entry: &fs::DirEntry) -> bool {
    let changed = entry.metadata().and_then(|found| found.modified());
    changed.is_ok_and(|then| then.elapsed().is_ok_and(|age| age > ABANDONED))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn count(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn the_next_server_removes_what_a_killed_one_left() {
        let parent = tempfile::tempdir().unwrap();
        let killed = parent.path().join(format!("{PREFIX}killed"));
        fs::create_dir_all(killed.join("airside-checker-1/clone")).unwrap();
        fs::write(killed.join(LOCK), "").unwrap();
        let first = Scratch::open(parent.path()).unwrap();
        assert!(!killed.exists());
        let folder = first.folder().unwrap();
        // Another server beside it takes nothing away.
        let second = Scratch::open(parent.path()).unwrap();
        assert!(folder.path().exists());
        assert_eq!(count(parent.path()), 2);
        drop((folder, first, second));
        assert_eq!(
            count(parent.path()),
            0,
            "nothing stays after an orderly end"
        );
    }

    #[test]
    fn what_a_server_left_that_was_killed_while_it_made_its_folder_goes_too() {
        let parent = tempfile::tempdir().unwrap();
        let path = |name: &str| parent.path().join(name);
        let (empty, theirs) = (
            path(&format!("{PREFIX}empty")),
            path(&format!("{PREFIX}theirs")),
        );
        let (old, new) = (
            path(&format!("{UNFINISHED}old")),
            path(&format!("{UNFINISHED}new")),
        );
        for folder in [&empty, &theirs, &old, &new] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(theirs.join("file"), "of who knows whom").unwrap();
        fs::write(old.join(LOCK), "").unwrap();
        let times = fs::FileTimes::new().set_modified(SystemTime::UNIX_EPOCH);
        File::open(&old).unwrap().set_times(times).unwrap();
        sweep(parent.path());
        let stays = [&empty, &theirs, &old, &new].map(|folder| folder.exists());
        assert_eq!(stays, [false, true, false, true]);
    }
}
