//! The programs that the tests run, as `make` names them.

use std::path::PathBuf;

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
}

fn path(name: &str) -> PathBuf {
    match std::env::var_os(name) {
        Some(value) if !value.is_empty() => PathBuf::from(value),
        _ => panic!("{name} is not set: run make test-local"),
    }
}
