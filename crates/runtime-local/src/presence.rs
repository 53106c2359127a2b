//! Which installations have something on this machine: a file for each, locked by its server for as long as
//! that lives. So the next server that starts, of whichever installation, can take away what one left that
//! was killed and never came back.
//!
//! ```text
//! /run/airside/installations/<installation>   the folder that its containers are in
//! ```

use std::{
    ffi::OsStr,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use airside_model::InstallationId;
use rustix::fs::FlockOperation;
use tracing::{debug, info};

use crate::{cgroup, network};

const FOLDER: &str = "/run/airside/installations";

/// Somebody who looks whether we live, and takes away what we left if we do not, holds our file for a moment.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(5);

/// This server is here.
#[derive(Debug)]
pub(crate) struct Presence(#[allow(dead_code, reason = "locked for as long as it lives")] File);

impl Presence {
    /// Says that the installation is here, with its containers below `root`. None if that cannot be said:
    /// then nobody cleans up after a kill, and nothing else is amiss.
    pub(crate) fn enter(installation: &InstallationId, root: &Path) -> Option<Self> {
        match enter_in(Path::new(FOLDER), installation, root) {
            Ok(file) => Some(Self(file)),
            Err(error) => {
                debug!(%error, "cannot say in {FOLDER} that this server is here");
                None
            }
        }
    }
}

fn enter_in(folder: &Path, installation: &InstallationId, root: &Path) -> io::Result<File> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o711).create(folder)?;
    let path = folder.join(installation.as_str());
    for _ in 0..TRIES {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.mode(0o600).open(&path)?;
        let locked = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
        // It may have been removed by whoever held it.
        if locked && fs::metadata(&path).is_ok_and(|there| is_same(&there, &file)) {
            file.set_len(0)?;
            file.write_all(root.as_os_str().as_bytes())?;
            return Ok(file);
        }
        thread::sleep(PAUSE);
    }
    Err(io::ErrorKind::WouldBlock.into())
}

fn is_same(there: &fs::Metadata, file: &File) -> bool {
    file.metadata().is_ok_and(|own| own.ino() == there.ino())
}

/// The installation is gone from this machine.
pub(crate) fn leave(installation: &InstallationId) {
    let _ = fs::remove_file(Path::new(FOLDER).join(installation.as_str()));
}

/// Takes away what installations left whose server is dead and of which no container is left.
pub(crate) fn sweep() {
    for Dead { installation, lock } in dead_in(Path::new(FOLDER)) {
        info!(%installation, "taking away what a server left on this machine that was killed");
        network::take_down(&installation);
        cgroup::leave(&installation);
        leave(&installation);
        drop(lock);
    }
}

/// An installation that nobody stands for any more. Its server waits with its return as long as this is held.
#[derive(Debug)]
struct Dead {
    installation: InstallationId,
    lock: File,
}

/// One after the other: no more than one is held at a time.
fn dead_in(folder: &Path) -> impl Iterator<Item = Dead> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter_map(|name| {
            let lock = lock_if_dead(&folder.join(&name))?;
            let installation = InstallationId::new(name);
            Some(Dead { installation, lock })
        })
        .filter(|dead| !cgroup::is_in_use(&dead.installation))
}

fn lock_if_dead(path: &Path) -> Option<File> {
    let mut file = File::open(path).ok()?;
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    // Another may have taken it away meanwhile, and its server have come back.
    fs::metadata(path)
        .is_ok_and(|there| is_same(&there, &file))
        .then_some(())?;
    let mut root = Vec::new();
    if file.read_to_end(&mut root).is_err() || root.is_empty() {
        return None;
    }
    let containers = PathBuf::from(OsStr::from_bytes(&root)).join("containers");
    // Those that are there are followed again when their server comes back.
    let is_empty = fs::read_dir(containers).map_or(true, |mut left| left.next().is_none());
    is_empty.then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<InstallationId> {
        dead_in(folder).map(|dead| dead.installation).collect()
    }

    #[test]
    fn an_installation_is_dead_without_its_server_and_its_containers() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        let here = folder.path().join("here");
        fs::create_dir_all(root.join("containers/s-1")).unwrap();
        let name = InstallationId::new("none-of-this-machine");
        assert_eq!(names(&here), []);
        let file = enter_in(&here, &name, &root).unwrap();
        assert_eq!(names(&here), [], "its server lives");
        assert!(enter_in(&here, &name, &root).is_err(), "once at a time");
        drop(file);
        assert_eq!(names(&here), [], "its containers may still run");
        fs::remove_dir(root.join("containers/s-1")).unwrap();
        assert_eq!(names(&here), std::slice::from_ref(&name));
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(
            names(&here),
            std::slice::from_ref(&name),
            "all of it is gone"
        );
        // Half-written: nobody knows where its containers are.
        fs::write(here.join("half"), "").unwrap();
        assert_eq!(names(&here), [name]);
    }
}
