//! `airside agent` as a child process with everything of its own.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{Environment, Fly, Server, leftovers, server::FOREIGN, wait_for};

pub struct Agent {
    name: String,
    folder: PathBuf,
    state: PathBuf,
    hub: String,
    args: Vec<String>,
    child: Option<Child>,
}

impl Agent {
    /// A token for this name, and the agent that holds it; `token` is what else `airside worker
    /// token` is told. It does not run yet.
    pub fn new(server: &Server, fly: &Fly, name: &str, token: &[&str]) -> Self {
        let folder = server.home().join(format!("agent-{name}"));
        fs::create_dir_all(&folder).unwrap();
        let agent = Self {
            name: name.to_owned(),
            hub: format!("localhost:{}", server.hub().port()),
            state: folder.join("state"),
            folder,
            args: Vec::new(),
            child: None,
        };
        let file = agent.token_file();
        let output = ["token", "--name", name, "--output", file.to_str().unwrap()];
        fly.airside_worker(&[&output[..], token].concat())
            .succeeded();
        agent
    }

    /// Makes an agent and starts it.
    pub fn start(server: &Server, fly: &Fly, name: &str, token: &[&str]) -> Self {
        let mut agent = Self::new(server, fly, name, token);
        agent.restart();
        agent
    }

    /// Further arguments of `airside agent`.
    #[must_use]
    pub fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|&arg| arg.to_owned()));
        self
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn token_file(&self) -> PathBuf {
        self.folder.join("token")
    }

    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Returns the agent's log, over all its starts.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("agent.log")).unwrap_or_default()
    }

    /// Starts it (again), with the same state.
    pub fn restart(&mut self) {
        assert!(self.child.is_none(), "the agent is running");
        self.child = Some(self.spawn());
    }

    /// Another one with the same token, running, with a state of its own.
    pub fn twin(&self) -> Self {
        let mut twin = Self {
            name: self.name.clone(),
            folder: self.folder.clone(),
            state: self.folder.join("twin-state"),
            hub: self.hub.clone(),
            args: self.args.clone(),
            child: None,
        };
        twin.restart();
        twin
    }

    fn spawn(&self) -> Child {
        let log = File::options()
            .append(true)
            .create(true)
            .open(self.folder.join("agent.log"))
            .expect("the log can be written");
        let mut command = Command::new(Environment::get().airside);
        FOREIGN.iter().for_each(|name| {
            command.env_remove(name);
        });
        command
            .arg("agent")
            .args(["--hub", &self.hub])
            .arg("--token")
            .arg(self.token_file())
            .arg("--state")
            .arg(&self.state)
            // Steps report to counters of the test, which listen on loopback.
            .args(["--local-network", "machine"])
            .args(&self.args)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        command.spawn().expect("airside starts")
    }

    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("the agent is running").id()
    }

    /// Kills it as a power cut does: nothing is flushed, no peer is told.
    pub fn kill_9(&mut self) {
        let mut child = self.child.take().expect("the agent is running");
        child.kill().expect("it is our child");
        child.wait().expect("it is our child");
    }

    /// Asks it to stop and waits until it has.
    pub fn stop(&mut self) -> ExitStatus {
        let pid = Pid::from_child(self.child.as_ref().expect("the agent is running"));
        kill_process(pid, Signal::TERM).expect("it is our child");
        self.ends()
    }

    /// Waits until it ends by itself.
    pub fn ends(&mut self) -> ExitStatus {
        let mut child = self.child.take().expect("the agent is running");
        wait_for("the agent ends", || child.try_wait().unwrap())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        leftovers::remove(&self.state);
        if std::thread::panicking() {
            eprintln!("the agent {} said:\n{}", self.name, self.log());
        }
    }
}
