//! Ends the steps of a server or agent that is no more. They outlive it on purpose, and a test must
//! not leave any.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{fifo::first_process, wait_until};

const CGROUPS: &str = "/sys/fs/cgroup";

/// Kills what still runs of the containers below the data folder, and removes their control groups.
pub(crate) fn remove(data: &Path) {
    for container in folders(&data.join("runtime/containers")) {
        if let Some(pid) = first_process(&container) {
            end(pid, &container);
        }
    }
    remove_groups(data);
}

/// Kills the first process, and with it all others of the container.
fn end(pid: i32, container: &Path) {
    let is_ours = || {
        let handle = container.file_name().unwrap_or_default().to_string_lossy();
        let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        groups.contains(&*handle)
    };
    let Some(process) = Pid::from_raw(pid).filter(|_| is_ours()) else {
        return;
    };
    let _ = kill_process(process, Signal::KILL);
    wait_until("the end of a container", || !is_ours());
}

/// Removes the control groups of this server's installation. They are empty by now.
fn remove_groups(data: &Path) {
    let known: Vec<String> = ["airside.db", "airside.db-wal", "installation"]
        .iter()
        .flat_map(|name| fs::read(data.join(name)))
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .collect();
    // The installation's name is a long random one: where it occurs, it is meant.
    let is_ours = |group: &Path| {
        let name = group.file_name().unwrap_or_default().to_string_lossy();
        known.iter().any(|file| file.contains(&*name))
    };
    let root = PathBuf::from(CGROUPS);
    for hierarchy in folders(&root).into_iter().chain([root.clone()]) {
        for installation in folders(&hierarchy.join("airside"))
            .iter()
            .filter(|group| is_ours(group))
        {
            for container in folders(installation) {
                let _ = fs::remove_dir(container);
            }
            let _ = fs::remove_dir(installation);
        }
    }
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir() && !path.is_symlink())
        .collect()
}
