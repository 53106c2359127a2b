//! The container's control groups: one on a v2 machine, one per controller on a v1 machine.

use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use airside_model::{Handle, InstallationId};

use crate::process::{self, Process};

const ROOT: &str = "/sys/fs/cgroup";

/// The path inside of each hierarchy.
pub(crate) fn path(installation: &InstallationId, handle: &Handle) -> String {
    format!("/airside/{installation}/{handle}")
}

/// Version 2 alone: there nothing restricts which devices a container may open.
pub(crate) fn is_unified() -> bool {
    Path::new(ROOT).join("cgroup.controllers").exists()
}

/// Kills whatever runs in the groups and removes them. Not there is fine.
pub(crate) fn remove(installation: &InstallationId, handle: &Handle) -> io::Result<()> {
    let inside = path(installation, handle);
    for hierarchy in hierarchies()? {
        let group = hierarchy.join(&inside[1..]);
        if group.is_dir() {
            remove_group(&group)?;
        }
    }
    Ok(())
}

/// Number of processes of a container that the kernel killed because its memory ran out.
pub(crate) fn oom_kills(installation: &InstallationId, handle: &Handle) -> u64 {
    let inside = path(installation, handle);
    let root = Path::new(ROOT);
    let file = if is_unified() {
        root.join(&inside[1..]).join("memory.events")
    } else {
        root.join("memory")
            .join(&inside[1..])
            .join("memory.oom_control")
    };
    // A group that is gone or has no such file tells nothing.
    parse_oom_kills(&fs::read_to_string(file).unwrap_or_default())
}

fn parse_oom_kills(text: &str) -> u64 {
    let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
    count
        .and_then(|count| count.trim().parse().ok())
        .unwrap_or(0)
}

/// Kills whatever runs in any group of the installation and removes them all.
pub(crate) fn remove_all(installation: &InstallationId) -> io::Result<()> {
    for group in groups_of(installation).filter(|group| group.is_dir()) {
        remove_group(&group)?;
    }
    Ok(())
}

/// True if the installation has control groups.
pub(crate) fn exist(installation: &InstallationId) -> bool {
    groups_of(installation).any(|group| group.is_dir())
}

fn groups_of(installation: &InstallationId) -> impl Iterator<Item = PathBuf> {
    let inside = format!("airside/{installation}");
    let hierarchies = hierarchies().unwrap_or_default().into_iter();
    hierarchies.map(move |hierarchy| hierarchy.join(&inside))
}

/// Removes the installation's own groups, if nothing runs in them.
pub(crate) fn leave(installation: &InstallationId) {
    groups_of(installation).for_each(|group| remove_empty(&group));
}

/// Removes empty groups from the innermost outwards; a group with a process in it stays, and so do
/// all groups around it.
fn remove_empty(group: &Path) {
    for inner in fs::read_dir(group).into_iter().flatten().flatten() {
        if inner.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_empty(&inner.path());
        }
    }
    let _ = fs::remove_dir(group);
}

/// Returns true if a process is in any of the installation's groups.
pub(crate) fn is_in_use(installation: &InstallationId) -> bool {
    groups_of(installation).any(|group| has_members(&group))
}

fn has_members(group: &Path) -> bool {
    let own = fs::read_to_string(group.join("cgroup.procs"));
    let inner = || fs::read_dir(group).into_iter().flatten().flatten();
    own.is_ok_and(|members| !members.trim().is_empty())
        || inner().any(|entry| {
            entry.file_type().is_ok_and(|kind| kind.is_dir()) && has_members(&entry.path())
        })
}

fn hierarchies() -> io::Result<Vec<PathBuf>> {
    let root = PathBuf::from(ROOT);
    if is_unified() {
        return Ok(vec![root]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(&root)? {
        let path = entry?.path();
        // Some controllers have a second name that is a link.
        if path.is_dir() && !path.is_symlink() {
            found.push(path);
        }
    }
    Ok(found)
}

fn remove_group(group: &Path) -> io::Result<()> {
    for entry in fs::read_dir(group)? {
        let path = entry?.path();
        if path.is_dir() {
            remove_group(&path)?;
        }
    }
    // A killed process leaves its group a moment after it died.
    for attempt in 0.. {
        match fs::remove_dir(group) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && attempt < 500 => {
                kill_members(group)?;
                thread::sleep(Duration::from_millis(2));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => return other,
        }
    }
    Ok(())
}

fn kill_members(group: &Path) -> io::Result<()> {
    let members = fs::read_to_string(group.join("cgroup.procs"))?;
    for pid in members.lines().filter_map(|line| line.parse().ok()) {
        if let Some(fd) = Process::of(pid).ok().and_then(|process| process.open()) {
            process::kill(&fd);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oom_kills_of_both_versions_are_read() {
        let unified = "low 0\nhigh 0\nmax 12\noom 2\noom_kill 3\noom_group_kill 0\n";
        assert_eq!(parse_oom_kills(unified), 3);
        let old = "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n";
        assert_eq!(parse_oom_kills(old), 1);
        assert_eq!(parse_oom_kills(""), 0);
    }
}
