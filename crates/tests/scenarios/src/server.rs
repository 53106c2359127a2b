//! `airside up` as a child process with everything of its own.

use std::{
    fs::{self, File},
    io::{Read, Write},
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::{Environment, Fly, WAIT_TIMEOUT, leftovers, ports, wait_for, wait_until};

/// Settings of this process that are not meant for the servers it starts.
pub(crate) const FOREIGN: [&str; 6] = [
    "AIRSIDE_DATABASE_URL",
    "AIRSIDE_USER",
    "AIRSIDE_TARGETS",
    "AIRSIDE_EXTERNAL_URL",
    "AIRSIDE_LOG_FORMAT",
    "AIRSIDE_LOG_LEVEL",
];

pub(crate) const USER: &str = "test";

pub struct ServerOptions {
    args: Vec<String>,
    env: Vec<(String, String)>,
    hub_ip: IpAddr,
    own_network: bool,
    disk: Option<PathBuf>,
    files: Option<u64>,
}

impl ServerOptions {
    pub fn new() -> Self {
        Self {
            args: Vec::new(),
            env: Vec::new(),
            hub_ip: Ipv4Addr::LOCALHOST.into(),
            own_network: false,
            disk: None,
            files: None,
        }
    }

    /// The server may have no more files open than this, and has to raise its soft limit if that is
    /// more than usual.
    #[must_use]
    pub fn files(mut self, limit: u64) -> Self {
        self.files = Some(limit);
        self
    }

    /// Steps have a network each, as they have by default outside of tests.
    #[must_use]
    pub fn own_network(mut self) -> Self {
        self.own_network = true;
        self
    }

    /// The data folder is on this disk, and goes with it.
    #[must_use]
    pub fn on_disk(mut self, disk: &Path) -> Self {
        self.disk = Some(disk.to_owned());
        self
    }

    /// Further arguments of `airside up`.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// A variable of the server's own.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the address at which shims find the hub, if not on this machine.
    #[must_use]
    pub fn hub_ip(mut self, ip: IpAddr) -> Self {
        self.hub_ip = ip;
        self
    }

    pub fn start(self) -> Server {
        Server::with(self)
    }
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self::new()
    }
}

pub struct Server {
    home: Option<TempDir>,
    options: ServerOptions,
    address: SocketAddr,
    hub: SocketAddr,
    child: Option<Child>,
}

impl Server {
    /// A server on this machine alone, ready for use.
    pub fn start() -> Self {
        Self::with(ServerOptions::new())
    }

    fn with(options: ServerOptions) -> Self {
        let home = tempfile::Builder::new()
            .prefix("airside-scenario-")
            .tempdir()
            .unwrap();
        let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let address = SocketAddr::new(ip, ports::free(ip));
        let hub = SocketAddr::new(options.hub_ip, ports::free(options.hub_ip));
        let mut server = Self {
            home: Some(home),
            options,
            address,
            hub,
            child: None,
        };
        server.restart();
        server
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the address of its hub.
    pub fn hub(&self) -> SocketAddr {
        self.hub
    }

    /// The server's data folder.
    pub fn data(&self) -> PathBuf {
        let disk = self.options.disk.as_deref();
        disk.unwrap_or_else(|| self.home()).join("data")
    }

    /// A folder for the test's own files; it goes with the server.
    pub fn home(&self) -> &Path {
        self.home.as_ref().expect("it goes last").path()
    }

    /// Returns the server's log, over all its starts.
    pub fn log(&self) -> String {
        fs::read_to_string(self.home().join("server.log")).unwrap_or_default()
    }

    /// A fly that is logged in.
    pub fn fly(&self) -> Fly {
        Fly::log_in(&self.url(), &self.home().join("fly"))
    }

    /// The command line of this server, for a second one beside it.
    pub fn command(&self) -> Command {
        let mut command = self.program();
        FOREIGN.iter().for_each(|name| {
            command.env_remove(name);
        });
        command
            .arg("up")
            .arg("--data")
            .arg(self.data())
            .args(["--listen", &self.address.to_string()])
            .args(["--hub-listen", &self.hub.to_string()])
            .args(["--user", &format!("{USER}:{USER}")])
            .args(self.network())
            .args(&self.options.args)
            .envs(self.options.env.iter().cloned())
            .stdin(Stdio::null());
        command
    }

    fn program(&self) -> Command {
        let airside = Environment::get().airside;
        let Some(files) = self.options.files.or_else(usual_files) else {
            return Command::new(airside);
        };
        let mut command = Command::new("bash");
        // A machine may not allow for more than it has already.
        let limited = format!(
            "ulimit -Sn {} && {{ ulimit -Hn {files} 2>/dev/null || true; }} && exec \"$0\" \"$@\"",
            files.min(1024)
        );
        command.arg("-c").arg(limited).arg(airside);
        command
    }

    /// Steps report to counters of the test, which listen on loopback.
    fn network(&self) -> &'static [&'static str] {
        if self.options.own_network {
            &[]
        } else {
            &["--local-network", "machine"]
        }
    }

    /// Starts it (again), with the same data and ports, and waits until it answers.
    pub fn restart(&mut self) {
        assert!(self.child.is_none(), "the server is running");
        let log = File::options()
            .append(true)
            .create(true)
            .open(self.home().join("server.log"))
            .expect("the log can be written");
        let mut command = self.command();
        command.stdout(log.try_clone().unwrap()).stderr(log);
        self.child = Some(command.spawn().expect("airside starts"));
        wait_until("the server answers", || {
            if let Some(status) = self.child.as_mut().unwrap().try_wait().unwrap() {
                panic!("the server ended by itself, {status}:\n{}", self.log());
            }
            self.answers()
        });
    }

    /// Returns the port at which shims of pods find the hub.
    pub fn hub_port(&self) -> u16 {
        self.hub.port()
    }

    /// Lets it read its targets and their credentials again.
    pub fn reload(&self) {
        self.signal(Signal::HUP);
    }

    /// The number of its process.
    pub fn pid(&self) -> u32 {
        let child = self.child.as_ref().expect("the server is running");
        child.id()
    }

    /// Kills it as a power cut does: nothing is flushed, no peer is told.
    pub fn kill_9(&mut self) {
        let mut child = self.child.take().expect("the server is running");
        child.kill().expect("it is our child");
        child.wait().expect("it is our child");
    }

    /// Stops its clock: connections stay, nothing is answered, until [`Server::thaw`].
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let child = self.child.as_ref().expect("the server is running");
        kill_process(Pid::from_child(child), signal).expect("it is our child");
    }

    /// Asks it to stop and waits until it has.
    pub fn stop(&mut self) -> ExitStatus {
        let mut child = self.child.take().expect("the server is running");
        let pid = Pid::from_child(&child);
        kill_process(pid, Signal::TERM).expect("it is our child");
        wait_for("the server stops", || child.try_wait().unwrap())
    }

    /// One plain request: the status and the body of the answer.
    pub fn http(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (u16, String) {
        let (head, body) = self.http_whole(method, path, headers, body);
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
        (status.expect("an answer begins with its status"), body)
    }

    /// Makes a request and returns the whole answer: the status line, the headers and the body.
    pub(crate) fn http_whole(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (String, String) {
        let answer = self
            .request(method, path, headers, body)
            .expect("the server answers");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        (head.to_owned(), body.to_owned())
    }

    fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(WAIT_TIMEOUT))?;
        write!(
            stream,
            "{method} {path} HTTP/1.0\r\nContent-Length: {}\r\n",
            body.len()
        )?;
        for (name, value) in headers {
            write!(stream, "{name}: {value}\r\n")?;
        }
        // A server may answer, and close, before it has read all of a long body.
        match write!(stream, "\r\n{body}") {
            Err(error) if !is_cut(&error) => return Err(error),
            _ => {}
        }
        let mut answer = Vec::new();
        let mut piece = [0; 4096];
        loop {
            match stream.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => answer.extend_from_slice(&piece[..read]),
                // The whole answer came before: what it says of its length is not looked at.
                Err(error) if is_cut(&error) && !answer.is_empty() => break,
                Err(error) => return Err(error),
            }
            // A build's events stay open for good.
            if answer.windows(11).any(|part| part == b"event: end\n") {
                break;
            }
        }
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    fn answers(&self) -> bool {
        let info = self.request("GET", "/api/v1/info", &[], "");
        info.is_ok_and(|answer| answer.starts_with("HTTP/1.0 200"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        leftovers::remove(&self.data());
        if std::thread::panicking()
            && let Some(home) = self.home.take()
        {
            let kept = home.keep();
            eprintln!(
                "the server's log and data are kept: {}",
                kept.join("server.log").display()
            );
        }
    }
}

/// True if the other side closed before it had read everything.
fn is_cut(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionReset};
    matches!(error.kind(), BrokenPipe | ConnectionReset)
}

/// The limit of open files of servers whose test sets none: `make test-hostile` gives one.
fn usual_files() -> Option<u64> {
    std::env::var("AIRSIDE_TEST_FILES").ok()?.parse().ok()
}
