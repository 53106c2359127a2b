//! The programs under test, as `make build` leaves them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use airside_model::Handle;
use rustix::process::{Pid, Signal, kill_process};

/// The airside command.
pub fn program() -> PathBuf {
    let path = std::env::var_os("AIRSIDE_BIN")
        .expect("AIRSIDE_BIN names the airside command; `make test-local` sets it");
    PathBuf::from(path)
}

/// The static shim beside it.
pub fn shim() -> PathBuf {
    let shim = program().with_file_name("airside-shim");
    assert!(
        shim.is_file(),
        "no shim at {}; run `make build`",
        shim.display()
    );
    shim
}

/// Kills the first process of a container on this machine, as an administrator might.
pub fn kill_first_process(handle: &Handle) {
    let hierarchies = ["/sys/fs/cgroup/airside", "/sys/fs/cgroup/memory/airside"];
    let installations = hierarchies
        .iter()
        .flat_map(fs::read_dir)
        .flatten()
        .flatten();
    let members = installations
        .filter_map(|installation| members(&installation.path().join(handle.as_str())))
        .flatten();
    // Numbers begin anew rarely enough: the first process has the lowest one.
    let first = members.min().and_then(Pid::from_raw);
    kill_process(first.expect("the container runs"), Signal::KILL).expect("it may be killed");
}

fn members(group: &Path) -> Option<Vec<i32>> {
    let text = fs::read_to_string(group.join("cgroup.procs")).ok()?;
    Some(text.lines().filter_map(|line| line.parse().ok()).collect())
}
