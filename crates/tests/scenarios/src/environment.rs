//! The programs that the tests run, as `make` names them.

use std::{path::PathBuf, process::Command, sync::OnceLock};

#[derive(Clone, Debug)]
pub struct Environment {
    /// The `airside` command.
    pub airside: PathBuf,
    pub fly: PathBuf,
    /// A small root file system, as a tar.
    pub rootfs: PathBuf,
}

impl Environment {
    pub fn get() -> Self {
        Self {
            airside: path("AIRSIDE_BIN"),
            fly: path("AIRSIDE_FLY"),
            rootfs: path("AIRSIDE_ROOTFS"),
        }
    }

    /// True if it is Concourse's own fly, and not the stand-in of machines that have none.
    pub fn has_real_fly(&self) -> bool {
        static REAL: OnceLock<bool> = OnceLock::new();
        *REAL.get_or_init(|| {
            let said = Command::new(&self.fly).arg("--version").output();
            let said = said.expect("fly starts").stdout;
            said.first().is_some_and(u8::is_ascii_digit)
        })
    }

    /// True if there is a real fly; if there is none, prints that the test was skipped.
    pub fn real_fly_or_skip(&self) -> bool {
        if self.has_real_fly() {
            return true;
        }
        let required =
            std::env::var_os("AIRSIDE_REQUIRE_REAL_FLY").is_some_and(|value| value == "1");
        assert!(!required, "AIRSIDE_FLY is not the real fly");
        eprintln!("skipped: needs the real fly");
        false
    }
}

fn path(name: &str) -> PathBuf {
    match std::env::var_os(name) {
        Some(value) if !value.is_empty() => PathBuf::from(value),
        _ => panic!("{name} is not set: run make test-local"),
    }
}
