//! The means of this machine that local steps use, for `airside doctor`. The probes are those of a
//! starting runtime; nothing that they make stays.

use std::{
    ffi::OsString,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use airside_model::chain;

use crate::{IdRange, Obstacle, Rootless, cgroup, isolation, network, obstacle, overlay_probe};

/// One means of the machine, and its state here.
#[derive(Debug)]
pub struct Means {
    pub name: &'static str,
    /// The use that steps have of it.
    pub purpose: &'static str,
    pub state: MeansState,
}

/// The state of a means. The text says what was found, or what is lacking and how to get it.
#[derive(Debug, PartialEq, Eq)]
pub enum MeansState {
    Present(String),
    /// Steps run without it, and less isolated from the machine.
    Lacking(String),
    /// No step can run on this machine.
    Missing(String),
}

/// Finds out what this machine has for steps whose data folder is at `folder`. `helper` is the
/// program and leading arguments of the runtime's helper.
pub fn examine(folder: &Path, helper: &[OsString], ids: IdRange) -> Vec<Means> {
    let is_root = rustix::process::geteuid().is_root();
    let means = |name, purpose, state| Means {
        name,
        purpose,
        state,
    };
    vec![
        means("rights", "making containers", rights()),
        means(
            "control groups",
            "limits of memory, CPU and processes",
            groups(),
        ),
        means(
            "overlayfs",
            "a private root for each step",
            overlayfs(is_root, folder),
        ),
        means("data folder", "containers and volumes", data_folder(folder)),
        means(
            "idmapped mounts",
            "root in a step is not root of the machine",
            of_root(is_root, || {
                isolation::can_show_other_ids(helper, folder, ids).map(|()| format!("ids {ids}"))
            }),
        ),
        means(
            "nft",
            "a network of its own for each step",
            of_root(is_root, || {
                network::rules_program().map_err(|error| chain(&error))
            }),
        ),
        means(
            "git",
            "checks and gets of git resources on this machine",
            git(),
        ),
    ]
}

fn rights() -> MeansState {
    rights_of(Rootless::prepare())
}

fn rights_of(prepared: Result<Option<Rootless>, Obstacle>) -> MeansState {
    match prepared {
        Ok(None) => MeansState::Present("root".to_owned()),
        Ok(Some(_)) => MeansState::Present("an ordinary user with a control group".to_owned()),
        Err(obstacle) => MeansState::Missing(chain(&obstacle)),
    }
}

fn groups() -> MeansState {
    let version = if cgroup::is_unified() { 2 } else { 1 };
    let note = match version {
        1 => "version 1: for root only",
        _ => "version 2",
    };
    MeansState::Present(note.to_owned())
}

/// Tries an overlay. An ordinary user may not: a kernel may load the module when it is first
/// needed, so that its absence from the kernel's list proves nothing.
fn overlayfs(is_root: bool, folder: &Path) -> MeansState {
    // A folder on which no container can stand is a means of its own.
    if is_root && obstacle::check_folder(folder).is_ok() {
        return match overlay_probe::check(folder) {
            Ok(()) => MeansState::Present("tried: the kernel makes overlays".to_owned()),
            Err(error) => MeansState::Missing(chain(&error)),
        };
    }
    let known = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    if knows_overlayfs(&known) {
        return MeansState::Present("known to the kernel".to_owned());
    }
    MeansState::Lacking(
        "not loaded: `modprobe overlay` loads it, and without it no step can run".to_owned(),
    )
}

fn knows_overlayfs(filesystems: &str) -> bool {
    let mut names = filesystems
        .lines()
        .filter_map(|line| line.split('\t').next_back());
    names.any(|name| name == "overlay")
}

fn data_folder(folder: &Path) -> MeansState {
    match obstacle::check_folder(folder) {
        Ok(()) => MeansState::Present(folder.display().to_string()),
        Err(error) => MeansState::Missing(chain(&error)),
    }
}

/// Probes a means that only root's steps have.
fn of_root(is_root: bool, probe: impl FnOnce() -> Result<String, String>) -> MeansState {
    if !is_root {
        return MeansState::Lacking("used only if airside runs as root".to_owned());
    }
    match probe() {
        Ok(found) => MeansState::Present(found),
        Err(reason) => MeansState::Lacking(reason),
    }
}

fn git() -> MeansState {
    let output = Command::new("git")
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    match output {
        Ok(output) if output.status.success() => {
            MeansState::Present(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        Ok(output) => MeansState::Lacking(format!("`git --version` fails: {}", output.status)),
        Err(error) => MeansState::Lacking(format!(
            "the program `git` (package git) cannot be run: {}",
            chain(&error)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_means_is_examined_and_what_lacks_says_how_to_get_it() {
        let folder = tempfile::tempdir().unwrap();
        let found = examine(
            folder.path(),
            &["/no/such/helper".into()],
            IdRange::default(),
        );
        let names: Vec<_> = found.iter().map(|means| means.name).collect();
        assert_eq!(
            names,
            [
                "rights",
                "control groups",
                "overlayfs",
                "data folder",
                "idmapped mounts",
                "nft",
                "git"
            ]
        );
        // The helper is not there, or this is no root: either way there are no such mounts.
        assert!(matches!(found[4].state, MeansState::Lacking(_)));
    }

    #[test]
    fn an_ordinary_user_without_a_control_group_is_told_how_to_get_one() {
        let group = "/user.slice".to_owned();
        let state = rights_of(Err(Obstacle::NotDelegated { group }));
        let MeansState::Missing(words) = state else {
            panic!("no step could run");
        };
        assert!(words.contains("systemd-run --user --scope"), "{words}");
        assert!(matches!(rights_of(Ok(None)), MeansState::Present(_)));
    }

    #[test]
    fn overlayfs_is_known_by_its_own_name() {
        assert!(knows_overlayfs("nodev\tsysfs\nnodev\toverlay\n\text4\n"));
        assert!(!knows_overlayfs("nodev\tsysfs\nnodev\toverlayx\n"));
    }
}
