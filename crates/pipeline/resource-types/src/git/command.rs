//! Runs the git program: in the action's private home, without the environment of this process, and
//! without a terminal that could answer a question.

use std::{
    collections::VecDeque,
    ffi::OsStr,
    io::{Read, Write},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use airside_blocking_http::{RequestTimeouts, refuses_on_loopback};

use super::{access::Access, config::Purpose, home::Home, remote::Remote};
use crate::{Failure, log::say};

/// Variables of this process' environment that git gets: the folders of programs, and proxies.
const KEPT: &[&str] = &[
    "PATH",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "TMPDIR",
];

/// Largest output that is read: more than any answer that makes sense.
const MAX_ANSWER: u64 = 256 << 20;

pub(crate) struct Git {
    home: Home,
    access: Access,
    remote: Remote,
    purpose: Purpose,
    more: Vec<(String, String)>,
}

/// The end of a run of git.
pub(crate) struct CommandEnd {
    pub(crate) ok: bool,
    pub(crate) answer: Vec<u8>,
    /// All that it complained of, or the last of it.
    pub(crate) complaints: String,
}

impl CommandEnd {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.answer).into_owned()
    }

    /// The line that says most about what went wrong.
    fn reason(&self) -> String {
        let lines = || self.complaints.lines().map(str::trim);
        let telling = |line: &&str| line.starts_with("fatal:") || line.starts_with("error:");
        let found = lines().rev().find(telling);
        let last = || lines().rev().find(|line| !line.is_empty());
        found
            .or_else(last)
            .unwrap_or("it printed nothing")
            .to_owned()
    }
}

impl Git {
    pub(crate) fn new(
        access: Access,
        purpose: Purpose,
        log: &mut dyn Write,
    ) -> Result<Self, Failure> {
        let remote = Remote::parse(access.uri.as_deref())?;
        let home = Home::new(&access, &remote, purpose)?;
        for name in &home.left_out {
            say(log, &format!("git_config: checks do without {name}"));
        }
        Ok(Self {
            home,
            access,
            remote,
            purpose,
            more: Vec::new(),
        })
    }

    /// The repository's address, without credentials.
    pub(crate) fn uri(&self) -> &str {
        &self.remote.uri
    }

    pub(super) fn access(&self) -> &Access {
        &self.access
    }

    pub(super) fn home(&mut self) -> &mut Home {
        &mut self.home
    }

    /// Other keys for ssh from here on; `None` for the source's own.
    pub(super) fn use_key(&mut self, key: Option<(&str, Option<&str>)>) -> Result<(), Failure> {
        let (key, passphrase) = match key {
            Some((key, passphrase)) => (Some(key), passphrase),
            None => (
                self.access.private_key.as_deref(),
                self.access.private_key_passphrase.as_deref(),
            ),
        };
        self.home.ssh(&self.access, key, passphrase)
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.more.push((name.to_owned(), value.to_owned()));
    }

    /// Runs it for what it does; what it says goes to the log.
    pub(crate) fn run(
        &self,
        dir: &Path,
        args: &[&str],
        log: &mut dyn Write,
    ) -> Result<(), Failure> {
        let ended = self.attempt(dir, args, b"", log)?;
        log_answer(&ended, log);
        self.expect(args, ended).map(|_| ())
    }

    /// Runs it for what it answers, without the last line break.
    pub(crate) fn read(
        &self,
        dir: &Path,
        args: &[&str],
        log: &mut dyn Write,
    ) -> Result<String, Failure> {
        self.feed(dir, args, "", log)
    }

    /// Runs git with text on its standard input.
    pub(crate) fn feed(
        &self,
        dir: &Path,
        args: &[&str],
        input: &str,
        log: &mut dyn Write,
    ) -> Result<String, Failure> {
        let ended = self.attempt(dir, args, input.as_bytes(), log)?;
        let text = self.expect(args, ended)?.text();
        Ok(text.strip_suffix('\n').map(str::to_owned).unwrap_or(text))
    }

    /// Runs git and returns its answer if it succeeds; its complaints are dropped.
    pub(crate) fn ask(&self, dir: &Path, args: &[&str]) -> Result<Option<String>, Failure> {
        let ended = self.attempt(dir, args, b"", &mut std::io::sink())?;
        Ok(ended.ok.then(|| ended.text().trim_end().to_owned()))
    }

    pub(crate) fn attempt(
        &self,
        dir: &Path,
        args: &[&str],
        input: &[u8],
        log: &mut dyn Write,
    ) -> Result<CommandEnd, Failure> {
        self.program("git", dir, args, input, log)
    }

    pub(super) fn program(
        &self,
        name: &str,
        dir: &Path,
        args: &[&str],
        input: &[u8],
        log: &mut dyn Write,
    ) -> Result<CommandEnd, Failure> {
        let mut command = Command::new(name);
        command.args(args.iter().map(OsStr::new)).current_dir(dir);
        command.env_clear();
        command.envs(
            KEPT.iter()
                .filter_map(|name| Some((name, std::env::var_os(name)?))),
        );
        command.envs(self.home.environment(&self.access));
        command.envs(self.more.iter().map(|(name, value)| (name, value)));
        finish(name, command, input, log)
    }

    fn expect(&self, args: &[&str], ended: CommandEnd) -> Result<CommandEnd, Failure> {
        if ended.ok {
            return Ok(ended);
        }
        let verb = args.first().copied().unwrap_or_default();
        let reason = ended.reason();
        let words = format!("git {verb} failed for {}: {reason}", self.remote.uri);
        if self.is_refused_on_loopback() {
            return Err(Failure::RefusedOnLoopback { words });
        }
        Err(Failure::said(words))
    }

    /// Returns true if a step's repository is on loopback and nothing listens there. git tells no
    /// program why it failed, so the server is tried once more. A check is on the machine itself,
    /// whose loopback is the one that people mean.
    fn is_refused_on_loopback(&self) -> bool {
        let patience = RequestTimeouts {
            connect: Duration::from_secs(2),
            ..RequestTimeouts::default()
        };
        let server = self.remote.server();
        self.purpose == Purpose::Step
            && server.is_some_and(|(host, port)| refuses_on_loopback(&host, port, &patience))
    }
}

pub(super) fn log_answer(ended: &CommandEnd, log: &mut dyn Write) {
    let _ = log.write_all(&ended.answer);
}

/// The answer and the input have a thread each; what is for the log passes through this one.
fn finish(
    name: &str,
    mut command: Command,
    input: &[u8],
    log: &mut dyn Write,
) -> Result<CommandEnd, Failure> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| cannot_run(name, &error))?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (answer, complaints) = thread::scope(|scope| {
        // A program that does not read all of it has read enough.
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input)));
        let answer = scope.spawn(move || {
            let mut answer = Vec::new();
            let read = stdout.map(|out| out.take(MAX_ANSWER).read_to_end(&mut answer));
            read.transpose().map(|_| answer)
        });
        let complaints = pump(stderr, log);
        (answer.join(), complaints)
    });
    let status = child.wait().map_err(|error| cannot_run(name, &error))?;
    let answer = match answer {
        Ok(answer) => answer.map_err(|error| cannot_run(name, &error))?,
        Err(_) => return Err(Failure::said(format!("reading from {name} crashed"))),
    };
    Ok(CommandEnd {
        ok: status.success(),
        answer,
        complaints,
    })
}

fn cannot_run(name: &str, error: &std::io::Error) -> Failure {
    match error.kind() {
        std::io::ErrorKind::NotFound => Failure::said(format!(
            "the program {name} is not installed where this step runs"
        )),
        _ => Failure::said(format!(
            "{name} cannot be run: {}",
            airside_model::chain(&error)
        )),
    }
}

/// Copies to the log, and keeps the end of it.
fn pump(from: Option<impl Read>, log: &mut dyn Write) -> String {
    const KEPT: usize = 8 << 10;
    let mut end = VecDeque::new();
    let mut buffer = [0; 4096];
    if let Some(mut from) = from {
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            let _ = log.write_all(&buffer[..count]);
            end.extend(&buffer[..count]);
            end.drain(..end.len().saturating_sub(KEPT));
        }
    }
    String::from_utf8_lossy(end.make_contiguous()).replace('\r', "\n")
}
