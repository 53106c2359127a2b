//! Questions to git about a folder that a person gives as an input: what it ignores, and what a get
//! would say of its commit.
//!
//! The folder is a person's, and git does what the configuration of a repository says. So git runs
//! as the owner of the folder, never as root for another's; nothing that is asked makes it run a
//! hook, a filter, a file system monitor or a pager, or connect anywhere; and it has a time limit.

use std::{
    io::{self, Read as _, Write as _},
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Time limit of one question.
const GIT_TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes of one answer: hundreds of thousands of names.
const MAX_ANSWER_BYTES: usize = 64 << 20;
/// Bytes of a question on standard input, which fit a pipe, so that git may answer at any time.
const MAX_INPUT_BYTES: usize = 60 << 10;

/// Settings that outrank those of the repository: no program but git, and nothing fetched.
const SAFE: [&str; 10] = [
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.untrackedCache=false",
    "-c",
    "log.showSignature=false",
    "-c",
    "core.quotePath=false",
];

/// A folder with a git repository of its own.
#[derive(Clone, Debug)]
pub(crate) struct Checkout {
    path: PathBuf,
    owner: (u32, u32),
}

/// The reason why git reported nothing about a folder.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AskError {
    #[error("git is not installed on this machine")]
    NoGit,
    #[error("git does not accept the folder; `git status` in it says why")]
    Refused,
    #[error("git did not answer within {} seconds", GIT_TIMEOUT.as_secs())]
    Silent,
    #[error("git names more than {} MiB of files", MAX_ANSWER_BYTES >> 20)]
    TooMuch,
    #[error("git cannot be run: {0}")]
    Run(#[source] io::Error),
}

impl Checkout {
    /// Returns the checkout in a folder: one with a `.git` folder of the owner's own. A linked
    /// worktree or a submodule has its repository elsewhere, and is none.
    pub(crate) fn find(path: &Path) -> Option<Self> {
        let folder = path.metadata().ok()?;
        let repository = path.join(".git").symlink_metadata().ok()?;
        (repository.is_dir() && repository.uid() == folder.uid()).then(|| Self {
            path: path.to_owned(),
            owner: (folder.uid(), folder.gid()),
        })
    }

    /// Returns the files and folders that git ignores, below the checkout's folder. Files that are
    /// in the repository are never among them.
    pub(crate) fn ignored(&self) -> Result<Vec<PathBuf>, AskError> {
        let args = [
            "ls-files",
            "--others",
            "--ignored",
            "--exclude-standard",
            "--directory",
            "-z",
        ];
        let names = self.run(&args, b"")?.ok_or(AskError::Refused)?;
        Ok(paths(&names))
    }

    /// Returns those of the paths, which need not exist, that git ignores.
    pub(crate) fn ignored_of(&self, asked: &[PathBuf]) -> Result<Vec<PathBuf>, AskError> {
        let mut input = Vec::new();
        for path in asked {
            input.extend_from_slice(path.as_os_str().as_bytes());
            input.push(0);
        }
        if input.len() > MAX_INPUT_BYTES {
            return Ok(Vec::new());
        }
        // No answer is that nothing is ignored.
        let answer = self.run(&["check-ignore", "-z", "--stdin"], &input)?;
        Ok(paths(&answer.unwrap_or_default()))
    }

    /// Returns git's answer as text without the last line break, or nothing if git refuses.
    pub(crate) fn ask(&self, args: &[&str]) -> Result<Option<String>, AskError> {
        let answer = self.run(args, b"")?;
        Ok(answer.map(|bytes| {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            text.strip_suffix('\n').map(str::to_owned).unwrap_or(text)
        }))
    }

    fn run(&self, args: &[&str], input: &[u8]) -> Result<Option<Vec<u8>>, AskError> {
        let mut command = Command::new("git");
        command
            .args(SAFE)
            .args(args)
            .current_dir(&self.path)
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .envs([
                ("LC_ALL", "C.UTF-8"),
                ("HOME", "/nonexistent"),
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_CONFIG_GLOBAL", "/dev/null"),
                ("GIT_OPTIONAL_LOCKS", "0"),
                ("GIT_TERMINAL_PROMPT", "0"),
                ("GIT_NO_LAZY_FETCH", "1"),
                // Overrides what the repository allows: no protocol has this name.
                ("GIT_ALLOW_PROTOCOL", "none"),
                // The folder itself, not one around it.
                ("GIT_DIR", ".git"),
                ("GIT_WORK_TREE", "."),
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        if self.owner.0 != rustix::process::geteuid().as_raw() {
            command.gid(self.owner.1).uid(self.owner.0);
        }
        finish(command, input)
    }
}

/// Runs a program to its end, whose answer counts if it succeeds.
fn finish(mut command: Command, input: &[u8]) -> Result<Option<Vec<u8>>, AskError> {
    let deadline = Instant::now() + GIT_TIMEOUT;
    let mut child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => AskError::NoGit,
        _ => AskError::Run(error),
    })?;
    // A program that does not read all of it has read enough.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(input));
    let answer = match child.stdout.take() {
        Some(out) => read_until(out, deadline),
        None => Ok(Vec::new()),
    };
    if answer.is_err() {
        let _ = child.kill();
    }
    let status = child.wait().map_err(AskError::Run)?;
    answer.map(|answer| status.success().then_some(answer))
}

fn read_until(mut out: std::process::ChildStdout, end: Instant) -> Result<Vec<u8>, AskError> {
    let (mut answer, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(|_| AskError::Silent)?;
        let mut ready = [PollFd::new(&out, PollFlags::IN)];
        match poll(&mut ready, Some(&left)) {
            Ok(0) => return Err(AskError::Silent),
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(AskError::Run(error.into())),
            Ok(_) => {}
        }
        match out.read(&mut buffer) {
            Ok(0) => return Ok(answer),
            Ok(count) if answer.len() + count > MAX_ANSWER_BYTES => return Err(AskError::TooMuch),
            Ok(count) => answer.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(AskError::Run(error)),
        }
    }
}

/// Reads names that end with a zero byte; those of folders end with a slash before it.
fn paths(names: &[u8]) -> Vec<PathBuf> {
    let names = names.split(|byte| *byte == 0);
    names
        .map(|name| name.strip_suffix(b"/").unwrap_or(name))
        .filter(|name| !name.is_empty())
        .map(|name| PathBuf::from(std::ffi::OsStr::from_bytes(name)))
        .collect()
}

#[cfg(test)]
mod tests;
