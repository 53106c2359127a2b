//! The folder of a test's checkers, so that it finds its own among those of other tests.

use std::{fs, time::Duration};

use airside_check_process::{Checkers, Options};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

pub(crate) struct CheckerFolders(TempDir);

impl CheckerFolders {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        // A checker runs as a user without rights, and must pass through.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(folder.path(), open).expect("it is ours");
        Self(folder)
    }

    pub(crate) fn options(&self) -> Options {
        Options {
            scratch: self.0.path().to_owned(),
            ..Options::new(vec![env!("CARGO_BIN_EXE_airside-checker").into()])
        }
    }

    pub(crate) fn checkers(&self) -> Checkers {
        Checkers::new(self.options())
    }

    /// The ids of all checkers that live here.
    pub(crate) fn all(&self) -> Vec<u32> {
        let here = self.0.path().to_str().expect("its name is text");
        let processes = fs::read_dir("/proc")
            .expect("processes are listed")
            .flatten();
        let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        ids.filter(|id| {
            let line = fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
            line.contains(here)
        })
        .collect()
    }

    pub(crate) fn checker(&self) -> Option<u32> {
        self.all().into_iter().next()
    }

    pub(crate) fn kill(&self) {
        for id in self.all() {
            let id =
                Pid::from_raw(i32::try_from(id).expect("ids are small")).expect("ids are not 0");
            kill_process(id, Signal::KILL).expect("it is there");
        }
    }

    /// Returns true if no checker left anything.
    pub(crate) fn is_empty(&self) -> bool {
        fs::read_dir(self.0.path())
            .expect("the folder is there")
            .next()
            .is_none()
    }
}

pub(crate) async fn eventually(condition: impl Fn() -> bool) {
    let patience = Duration::from_secs(30);
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let waited = tokio::time::timeout(patience, waiting).await;
    waited.expect("it should have come to that");
}
