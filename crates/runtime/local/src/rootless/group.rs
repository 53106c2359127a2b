//! The control group that was given to this process to divide as it likes.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rustix::fs::Access;

use super::Obstacle;

pub(super) const ROOT: &str = "/sys/fs/cgroup";
/// A group with groups below has no processes of its own; so ours gets a place beside the steps'.
const SERVER: &str = "airside-server";
/// Controllers without which a step could take the machine down.
const NEEDED: [&str; 2] = ["memory", "pids"];
/// Controllers for limits that a step asks for.
const WELCOME: &str = "cpu";

pub(super) struct Group {
    pub folder: PathBuf,
}

impl Group {
    /// The group that we are in, if it can be divided.
    pub(super) fn own() -> Result<Self, Obstacle> {
        if !Path::new(ROOT).join("cgroup.controllers").exists() {
            return Err(Obstacle::OldGroups);
        }
        let list = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let group = unified(&list).ok_or(Obstacle::OldGroups)?.to_owned();
        let folder = PathBuf::from(format!("{ROOT}{group}"));
        let writable = |name: &str| rustix::fs::access(folder.join(name), Access::WRITE_OK).is_ok();
        if !["", "cgroup.procs", "cgroup.subtree_control"]
            .into_iter()
            .all(writable)
        {
            return Err(Obstacle::NotDelegated { group });
        }
        let has = fs::read_to_string(folder.join("cgroup.controllers")).unwrap_or_default();
        let missing = missing(&has);
        if !missing.is_empty() {
            return Err(Obstacle::NoControllers { group, missing });
        }
        let members = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
        if members.trim() != std::process::id().to_string() {
            return Err(Obstacle::NotAlone { group });
        }
        Ok(Self { folder })
    }

    /// Inside of the namespaces, where the group is the root: makes room for those of steps.
    pub(super) fn settle(&self) -> io::Result<()> {
        let root = Path::new(ROOT);
        let server = root.join(SERVER);
        match fs::create_dir(&server) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        fs::write(server.join("cgroup.procs"), "0")?;
        let has = fs::read_to_string(root.join("cgroup.controllers"))?;
        fs::write(root.join("cgroup.subtree_control"), wanted(&has))
    }
}

fn unified(list: &str) -> Option<&str> {
    let path = list.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(path.trim_end_matches('/'))
}

fn wanted(has: &str) -> String {
    let wanted = |name: &&str| NEEDED.contains(name) || *name == WELCOME;
    let names = has.split_whitespace().filter(wanted);
    names.map(|name| format!("+{name} ")).collect()
}

fn missing(has: &str) -> String {
    let has: Vec<&str> = has.split_whitespace().collect();
    let missing = NEEDED.into_iter().filter(|name| !has.contains(name));
    missing.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_version_two_is_found_among_others() {
        let list = "9:name=systemd:/\n1:cpu:/a\n0::/user.slice/run-1.scope\n";
        assert_eq!(unified(list), Some("/user.slice/run-1.scope"));
        assert_eq!(unified("0::/\n"), Some(""));
        assert_eq!(unified("1:cpu:/a\n"), None);
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(missing("cpuset cpu io memory pids\n"), "");
        assert_eq!(missing("cpu\n"), "memory, pids");
        assert_eq!(wanted("cpuset cpu io memory pids\n"), "+cpu +memory +pids ");
        assert_eq!(wanted("memory pids\n"), "+memory +pids ");
    }
}
