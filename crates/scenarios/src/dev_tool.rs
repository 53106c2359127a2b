//! Tools of `dev/`, as tests use them.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

pub(crate) fn path(name: &str) -> PathBuf {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dev");
    tools.join(name)
}

/// One that serves until it is ended: its process, and the port that it prints first.
pub fn start_tool(name: &str, arguments: &[&str]) -> (Child, String) {
    let mut process = Command::new(path(name))
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("dev/{name} does not run: {error}"));
    let mut port = String::new();
    let stdout = process.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut port).unwrap();
    (process, port.trim().to_owned())
}
