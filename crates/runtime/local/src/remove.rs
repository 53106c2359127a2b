//! Removes a container, in whatever state it is.

use std::{fs, path::Path};

use airside_model::{Handle, InstallationId};

use crate::{Error, cgroup, container::ContainerDir, process};

const PATIENCE_SECONDS: i64 = 30;

/// Removes a container, with the lock held. The mounts were the container's own and go with its
/// last process.
pub(crate) fn container(
    dir: &ContainerDir,
    installation: &InstallationId,
    handle: &Handle,
) -> Result<(), Error> {
    if let Some(fd) = dir.init()?.and_then(|init| init.open()) {
        // The first process of a process namespace takes all others with it.
        process::kill(&fd);
        if !process::ended(&fd, PATIENCE_SECONDS) {
            return Err(Error::Undead {
                handle: handle.clone(),
            });
        }
    }
    // A helper that was killed half-way leaves processes that only the groups know of.
    cgroup::remove(installation, handle).map_err(Error::disk(Path::new("/sys/fs/cgroup")))?;
    // The record goes last, so that an interrupted removal is found again.
    for entry in fs::read_dir(dir.path()).map_err(Error::disk(dir.path()))? {
        let path = entry.map_err(Error::disk(dir.path()))?.path();
        if !path.ends_with("record.json") && !path.ends_with("lock") {
            airside_archive::remove(&path).map_err(Error::disk(&path))?;
        }
    }
    airside_archive::remove(dir.path()).map_err(Error::disk(dir.path()))
}

/// Removes, with the lock held, what was left by a server that was killed before the container had
/// a first process: nothing of it has run, and nothing of it is to be built upon.
pub(crate) fn unstarted(
    dir: &ContainerDir,
    installation: &InstallationId,
    handle: &Handle,
) -> Result<(), Error> {
    cgroup::remove(installation, handle).map_err(Error::disk(Path::new("/sys/fs/cgroup")))?;
    for entry in fs::read_dir(dir.path()).map_err(Error::disk(dir.path()))? {
        let path = entry.map_err(Error::disk(dir.path()))?.path();
        if !path.ends_with("lock") {
            airside_archive::remove(&path).map_err(Error::disk(&path))?;
        }
    }
    Ok(())
}
