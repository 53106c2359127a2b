//! Tools of `dev/`, as tests use them.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

pub(crate) fn path(name: &str) -> PathBuf {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../dev");
    tools.join(name)
}

/// Messages of an API server, or a proxy before it, that is too busy to answer.
const PASSING: [&str; 6] = [
    "connection refused",
    "TLS handshake timeout",
    "i/o timeout",
    "EOF",
    "etcdserver: request timed out",
    "connection reset by peer",
];
const TRIES: usize = 5;

/// Returns the output of `dev/cluster` for a cluster, or its complaint. A command that only reads
/// is repeated if it failed for a passing reason.
pub fn ask_cluster(cluster: Option<&str>, arguments: &[&str]) -> Result<String, String> {
    let is_look = arguments.first() == Some(&"kubectl")
        && ["get", "logs"].iter().any(|it| arguments.contains(it));
    let mut tries = 0;
    loop {
        let output = Command::new(path("cluster"))
            .args(arguments)
            .envs(cluster.map(|name| ("CLUSTER", name)))
            .output()
            .expect("dev/cluster runs");
        if output.status.success() {
            return Ok(String::from_utf8(output.stdout).expect("dev/cluster prints text"));
        }
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        tries += 1;
        if !is_look || tries == TRIES || !PASSING.iter().any(|passing| words.contains(passing)) {
            return Err(words);
        }
        thread::sleep(Duration::from_secs(1));
    }
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
