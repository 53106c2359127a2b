//! Where checkers have their folders: one folder for each server, locked while that lives. A server that was
//! killed cannot remove its own; the next one that starts does, whichever it is.

use std::{
    fs::{self, File, Permissions},
    io,
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;
use tracing::{debug, info};

const PREFIX: &str = "airside-checkers-";
/// Not yet locked, so nobody may take it for a dead one.
const UNFINISHED: &str = ".airside-checkers-";
const LOCK: &str = "lock";

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
    pub(crate) fn folder(&self) -> io::Result<TempDir> {
        tempfile::Builder::new()
            .prefix("airside-checker-")
            .tempdir_in(self.dir.path())
    }
}

/// Removes the folders of servers that do not live any more.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if !name.to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let Ok(lock) = File::open(path.join(LOCK)) else {
            continue;
        };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        match fs::remove_dir_all(&path) {
            Ok(()) => {
                info!(folder = %path.display(), "removed what checkers of a killed server left")
            }
            Err(error) => {
                debug!(folder = %path.display(), %error, "cannot remove a folder of checkers")
            }
        }
    }
}

#[cfg(test)]
mod tests {
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
}
