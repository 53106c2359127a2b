//! `airside run` as a child process with everything of its own.

use std::{
    fs::{self, File},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::{Environment, Output, server::FOREIGN, wait_for};

static NUMBER: AtomicUsize = AtomicUsize::new(0);

/// A folder to run pipelines in, and one for what the program makes, which must be empty
/// afterwards.
pub struct Run {
    home: TempDir,
    network: &'static [&'static str],
    path: Option<PathBuf>,
    env: Vec<(&'static str, String)>,
}

impl Run {
    /// Makes a project with a pipeline in `pipeline.yml`.
    pub fn new(pipeline: &str) -> Self {
        let home = tempfile::Builder::new()
            .prefix("airside-scenario-")
            .tempdir()
            .unwrap();
        fs::create_dir(home.path().join("tmp")).unwrap();
        let network = &["--local-network", "machine"];
        let run = Self {
            home,
            network,
            path: None,
            env: Vec::new(),
        };
        run.file("pipeline.yml", pipeline);
        run
    }

    /// Steps have a network each, as they have by default outside of tests.
    #[must_use]
    pub fn own_network(self) -> Self {
        Self {
            network: &[],
            ..self
        }
    }

    /// The program finds no other programs, as if they were not installed.
    #[must_use]
    pub fn without_programs(mut self) -> Self {
        self.path = Some(self.path().join("no-programs"));
        self
    }

    /// Sets a variable of the program's environment.
    #[must_use]
    pub fn env(mut self, name: &'static str, value: &str) -> Self {
        self.env.push((name, value.to_owned()));
        self
    }

    pub fn path(&self) -> &Path {
        self.home.path()
    }

    /// Writes a file, folders included.
    pub fn file(&self, name: &str, content: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Runs `airside run pipeline.yml args` to its end.
    #[track_caller]
    pub fn run(&self, args: &[&str]) -> Output {
        let output = self.spawn(args).wait();
        self.nothing_is_left();
        output
    }

    pub fn spawn(&self, args: &[&str]) -> Running {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let stdout = self.path().join(format!("{number}.out"));
        let file = File::create(&stdout).unwrap();
        self.start(args, stdout, Stdio::null(), file.into())
    }

    /// Starts it with standard output on a terminal; the caller reads what is printed there.
    pub fn spawn_on(&self, terminal: OwnedFd, args: &[&str]) -> Running {
        let none = self.path().join("none");
        self.start(args, none, Stdio::null(), terminal.into())
    }

    /// Starts it on a terminal, from which it can also ask.
    pub fn spawn_asking(&self, terminal: &OwnedFd, args: &[&str]) -> Running {
        let mut command = self.command(args);
        let copy = || Stdio::from(terminal.try_clone().expect("a descriptor is free"));
        command.stdin(copy()).stdout(copy()).stderr(copy());
        Running {
            child: command.spawn().expect("airside starts"),
            stdout: self.path().join("none"),
            stderr: self.path().join("none"),
        }
    }

    /// Starts it in a session of its own at a terminal, where a person types and reads.
    pub fn spawn_at(&self, terminal: File, args: &[&str]) -> Running {
        let none = self.path().join("none");
        let input = terminal.try_clone().unwrap();
        let mut program = Command::new("setsid");
        program.arg("--ctty").arg(Environment::get().airside);
        self.start_as(program, args, none, [input.into(), terminal.into()])
    }

    fn start(&self, args: &[&str], stdout: PathBuf, input: Stdio, out: Stdio) -> Running {
        let program = Command::new(Environment::get().airside);
        self.start_as(program, args, stdout, [input, out])
    }

    fn start_as(
        &self,
        program: Command,
        args: &[&str],
        stdout: PathBuf,
        [input, out]: [Stdio; 2],
    ) -> Running {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let stderr = self.path().join(format!("{number}.err"));
        let child = self
            .prepare(program, args)
            .stdin(input)
            .stdout(out)
            .stderr(File::create(&stderr).unwrap())
            .spawn()
            .expect("airside starts");
        Running {
            child,
            stdout,
            stderr,
        }
    }

    fn command(&self, args: &[&str]) -> Command {
        self.prepare(Command::new(Environment::get().airside), args)
    }

    fn prepare(&self, mut command: Command, args: &[&str]) -> Command {
        FOREIGN.iter().for_each(|name| {
            command.env_remove(name);
        });
        if let Some(path) = &self.path {
            command.env("PATH", path);
        }
        command
            .arg("run")
            .arg("pipeline.yml")
            .args(self.network)
            .args(args)
            .current_dir(self.path())
            .env("TMPDIR", self.path().join("tmp"))
            .env("XDG_CACHE_HOME", self.path().join("cache"))
            .env("TERM", "xterm")
            .envs(self.env.iter().cloned());
        command
    }

    /// No folder, no mount and no process is left of a run that is over.
    #[track_caller]
    pub fn nothing_is_left(&self) {
        let tmp = self.path().join("tmp");
        let left: Vec<_> = fs::read_dir(&tmp).unwrap().flatten().collect();
        assert!(left.is_empty(), "{left:?}");
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let tmp = tmp.to_str().unwrap();
        assert!(!mounts.contains(tmp), "{mounts}");
        let processes = fs::read_dir("/proc").unwrap().flatten();
        for process in processes {
            let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            assert!(!line.contains(tmp), "still running: {line}");
        }
    }
}

/// A run under way.
pub struct Running {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Running {
    #[track_caller]
    pub fn wait(mut self) -> Output {
        let status = wait_for("the run ends", || self.child.try_wait().unwrap());
        Output {
            code: status.code(),
            stdout: read(&self.stdout),
            stderr: read(&self.stderr),
        }
    }

    /// Interrupts it as Ctrl-C does.
    pub fn interrupt(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).expect("it is our child");
    }

    #[track_caller]
    pub fn wait_for_text(&self, text: &str) {
        wait_for(&format!("the run prints {text:?}"), || {
            let printed = read(&self.stdout) + &read(&self.stderr);
            printed.contains(text).then_some(())
        });
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}
