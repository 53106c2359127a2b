//! The real fly, with a home of its own.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
};

use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;

use crate::{Environment, server::USER, wait_for};

const TARGET: &str = "test";

/// Tells apart the files of the flys that one test runs, and pipelines that are set anew.
static NUMBER: AtomicUsize = AtomicUsize::new(0);

/// Text that [`Fly::pipeline_anew`] replaces by one of its own.
pub const ANEW: &str = "__anew__";

#[derive(Clone)]
pub struct Fly {
    home: PathBuf,
    /// Folder that it runs in, if not the test's.
    folder: Option<PathBuf>,
}

/// Exit code and output of a fly.
#[derive(Debug)]
pub struct Output {
    /// None if it was killed.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// A build as `fly builds` lists it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Build {
    pub id: i64,
    pub name: String,
    pub status: String,
    #[serde(default)]
    pub pipeline_name: String,
    #[serde(default)]
    pub job_name: String,
}

impl Build {
    pub fn has_ended(&self) -> bool {
        !matches!(self.status.as_str(), "pending" | "started")
    }
}

impl Fly {
    /// Logged in at a server, with its files in this folder.
    pub fn log_in(url: &str, home: &Path) -> Self {
        fs::create_dir_all(home).unwrap();
        let fly = Self {
            home: home.to_owned(),
            folder: None,
        };
        fly.run(&["login", "-c", url, "-u", USER, "-p", USER])
            .succeeded();
        fly
    }

    /// `airside worker` with the login that this fly keeps, run to its end.
    pub fn airside_worker(&self, args: &[&str]) -> Output {
        let mut command = Command::new(Environment::get().airside);
        let command = command.args(["worker", "-t", TARGET]).args(args);
        let ended = command
            .env("HOME", &self.home)
            .env_remove("FLY_HOME")
            .output();
        let ended = ended.expect("airside starts");
        Output {
            code: ended.status.code(),
            stdout: String::from_utf8_lossy(&ended.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&ended.stderr).into_owned(),
        }
    }

    /// Returns this fly, run in another folder.
    #[must_use]
    pub fn within(&self, folder: &Path) -> Self {
        Self {
            folder: Some(folder.to_owned()),
            ..self.clone()
        }
    }

    /// Runs `fly -t … args` to its end.
    #[track_caller]
    pub fn run(&self, args: &[&str]) -> Output {
        self.spawn(args).wait()
    }

    /// Starts `fly -t … args`.
    pub fn spawn(&self, args: &[&str]) -> Background {
        self.start(args, Stdio::null())
    }

    /// Starts `fly -t … args` with something to read, which goes on until the sender is dropped.
    pub fn spawn_reading(&self, args: &[&str]) -> (Background, std::process::ChildStdin) {
        let mut background = self.start(args, Stdio::piped());
        let stdin = background.child.stdin.take().expect("it is a pipe");
        (background, stdin)
    }

    fn start(&self, args: &[&str], stdin: Stdio) -> Background {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let stdout = self.home.join(format!("{number}-{}.out", args[0]));
        let stderr = stdout.with_extension("err");
        let mut command = Command::new(Environment::get().fly);
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        let child = command
            .args(["-t", TARGET])
            .args(args)
            .env("HOME", &self.home)
            .stdin(stdin)
            .stdout(File::create(&stdout).unwrap())
            .stderr(File::create(&stderr).unwrap())
            .spawn()
            .expect("fly starts");
        Background {
            child,
            command: args.join(" "),
            stdout,
            stderr,
        }
    }

    /// The header with which this fly shows who it is.
    pub fn authorization(&self) -> String {
        let known = fs::read_to_string(self.home.join(".flyrc")).expect("fly keeps its token");
        let value = known
            .lines()
            .find_map(|line| line.trim().strip_prefix("value: "));
        format!("Bearer {}", value.expect("fly has a token"))
    }

    /// Sets a pipeline and unpauses it.
    #[track_caller]
    pub fn pipeline(&self, name: &str, config: &str) {
        self.set_pipeline(name, config).succeeded();
        self.run(&["unpause-pipeline", "-p", name]).succeeded();
    }

    /// Sets a pipeline with a text of its own in the place of [`ANEW`]: in a source it makes gets
    /// fetch again.
    #[track_caller]
    pub fn pipeline_anew(&self, name: &str, config: &str) {
        assert!(config.contains(ANEW), "there is no place for a new text");
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        self.pipeline(name, &config.replace(ANEW, &format!("anew-{number}")));
    }

    #[track_caller]
    pub fn set_pipeline(&self, name: &str, config: &str) -> Output {
        let file = self.home.join(format!("{name}.yml"));
        fs::write(&file, config).unwrap();
        self.run(&[
            "set-pipeline",
            "-n",
            "-p",
            name,
            "-c",
            file.to_str().unwrap(),
        ])
    }

    /// Triggers `pipeline/job` and stays until the build ends.
    #[track_caller]
    pub fn trigger_and_watch(&self, job: &str) -> Output {
        self.run(&["trigger-job", "-j", job, "-w"])
    }

    /// Triggers `pipeline/job` and gives the new build.
    #[track_caller]
    pub fn trigger(&self, job: &str) -> Build {
        let said = self.run(&["trigger-job", "-j", job]).succeeded();
        let name = said
            .stdout
            .trim()
            .rsplit('#')
            .next()
            .unwrap_or_default()
            .to_owned();
        let of_job = |build: &Build| format!("{}/{}", build.pipeline_name, build.job_name) == job;
        let found = self
            .builds()
            .into_iter()
            .find(|build| of_job(build) && build.name == name);
        found.unwrap_or_else(|| panic!("build {name:?} of {job} is not listed: {said:?}"))
    }

    /// All builds, newest first.
    #[track_caller]
    pub fn builds(&self) -> Vec<Build> {
        let listed = self.run(&["builds", "--json", "-c", "1000"]).succeeded();
        serde_json::from_str(&listed.stdout).expect("fly prints JSON")
    }

    #[track_caller]
    pub fn status(&self, id: i64) -> String {
        let found = self.builds().into_iter().find(|build| build.id == id);
        found.expect("the build exists").status
    }

    /// Returns the output of `fly watch` for a build, from its first event to its end.
    #[track_caller]
    pub fn watch(&self, id: i64) -> Output {
        self.run(&["watch", "-b", &id.to_string()])
    }

    /// Waits until the build's printed log holds `text`.
    #[track_caller]
    pub fn wait_for_text(&self, id: i64, text: &str) {
        let mut watch = self.spawn(&["watch", "-b", &id.to_string()]);
        watch.wait_for_text(text);
        watch.kill();
    }
}

/// A fly that is running.
pub struct Background {
    child: Child,
    command: String,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Background {
    /// Waits for its end.
    #[track_caller]
    pub fn wait(mut self) -> Output {
        let what = format!("fly {} ends", self.command);
        let status = wait_for(&what, || self.child.try_wait().unwrap());
        Output {
            code: status.code(),
            stdout: self.stdout(),
            stderr: fs::read_to_string(&self.stderr).unwrap_or_default(),
        }
    }

    /// Waits for its end, however long it takes, as long as it goes on printing.
    #[track_caller]
    pub fn wait_while_it_prints(mut self) -> Output {
        let size = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
        let mut printed = 0;
        loop {
            let what = format!("fly {} prints more, or ends", self.command);
            let ended = wait_for(&what, || {
                let ended = self.child.try_wait().unwrap().is_some();
                let more = size(&self.stdout) > printed;
                (ended || more).then_some(ended)
            });
            if ended {
                return self.wait();
            }
            printed = size(&self.stdout);
        }
    }

    /// Returns the output so far.
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.stdout).unwrap_or_default()).into_owned()
    }

    #[track_caller]
    pub fn wait_for_text(&mut self, text: &str) {
        wait_for(&format!("fly {} prints {text:?}", self.command), || {
            let ended = self.child.try_wait().unwrap();
            let printed = self.stdout();
            let found = printed.contains(text);
            assert!(
                found || ended.is_none(),
                "fly {} ended without {text:?}:\n{printed}",
                self.command
            );
            found.then_some(())
        });
    }

    /// Interrupts it as Ctrl-C does.
    pub fn interrupt(&self) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::INT).expect("it is our child");
    }

    pub fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.end();
    }
}

impl Output {
    #[track_caller]
    pub fn succeeded(self) -> Self {
        self.ended_with(0)
    }

    #[track_caller]
    pub fn ended_with(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "stdout:\n{}\nstderr:\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    /// The printed lines without colours and carriage returns.
    pub fn lines(&self) -> Vec<String> {
        let mut plain = String::new();
        let mut rest = self.stdout.as_str();
        while let Some(start) = rest.find("\x1b[") {
            plain.push_str(&rest[..start]);
            let tail = &rest[start..];
            rest = tail.find('m').map_or("", |end| &tail[end + 1..]);
        }
        plain.push_str(rest);
        plain
            .lines()
            .map(|line| line.trim_end_matches('\r').to_owned())
            .collect()
    }
}
