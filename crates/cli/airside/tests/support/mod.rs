//! The real program as a child process with everything of its own.

#![allow(dead_code, reason = "not every test needs all of it")]

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio},
    sync::{Arc, Mutex, mpsc},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Time that anything may take before a test gives up.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Pause between two looks at a condition.
const POLL: Duration = Duration::from_millis(10);

/// `airside` without settings from the environment of the tests.
pub(crate) fn airside() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_airside"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("AIRSIDE_") {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null());
    command
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs it to its end and returns what it wrote to standard error; it must fail.
#[track_caller]
pub(crate) fn refusal(command: &mut Command) -> String {
    let Output { status, stderr, .. } = command.output().unwrap();
    assert!(!status.success(), "it should have failed");
    text(&stderr)
}

/// A folder with a key and a user: what `airside web` asks for.
pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        home.file("key", &"5a".repeat(32));
        home.file("users", "# who may\nadmin:secret\n");
        home
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// `airside web` on a free port, without workers.
    pub(crate) fn web(&self) -> Command {
        let mut command = airside();
        command
            .current_dir(self.path())
            .args(["web", "--listen", "127.0.0.1:0", "--data", "data"])
            .args(["--encryption-key-file", "key", "--user-file", "users"]);
        command
    }
}

/// A server that runs.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
    log: Arc<Mutex<String>>,
    lines: mpsc::Receiver<String>,
}

impl Server {
    /// Starts it and waits until it says where it serves.
    #[track_caller]
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let lines = read_lines(child.stderr.take().unwrap(), log.clone());
        let mut server = Self {
            child,
            url: String::new(),
            log,
            lines,
        };
        let line = server.wait_for_line("http");
        let from = line.find("http").unwrap();
        let url = line[from..].split(['"', ' ', '\u{1b}']).next().unwrap();
        server.url = url.to_owned();
        server
    }

    pub(crate) fn address(&self) -> SocketAddr {
        let (_, address) = self.url.split_once("://").unwrap();
        address.parse().unwrap()
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// The next line of its log that has `part` in it.
    #[track_caller]
    pub(crate) fn wait_for_line(&self, part: &str) -> String {
        let until = Instant::now() + TEST_TIMEOUT;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if line.contains(part) => return line,
                Ok(_) => {}
                Err(_) => panic!("no line with {part:?}:\n{}", self.log()),
            }
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    #[track_caller]
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let until = Instant::now() + TEST_TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                // Until all that it said has been read.
                while self.lines.recv_timeout(Duration::from_secs(5)).is_ok() {}
                return status;
            }
            assert!(Instant::now() < until, "it does not end:\n{}", self.log());
            std::thread::sleep(POLL);
        }
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// One plain request without TLS; the whole answer.
    pub(crate) fn get(&self, path: &str, headers: &str) -> String {
        self.request("GET", path, headers, "")
    }

    pub(crate) fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.0\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

fn read_lines(stderr: ChildStderr, log: Arc<Mutex<String>>) -> mpsc::Receiver<String> {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            log.lock().unwrap().push_str(&format!("{line}\n"));
            if send.send(line).is_err() {
                break;
            }
        }
    });
    receive
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for a condition, looking again and again.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + TEST_TIMEOUT;
    while !holds() {
        assert!(Instant::now() < until, "in vain: {what}");
        std::thread::sleep(POLL);
    }
}

/// The real `fly`, where `AIRSIDE_FLY` says where it is.
pub(crate) fn fly(home: &Path) -> Option<Command> {
    let program = std::env::var_os("AIRSIDE_FLY")?;
    let mut command = Command::new(program);
    command.env("HOME", home).env("USERPROFILE", home);
    Some(command)
}
