//! A shell session with the real fly, written down so that it can be kept and compared: each
//! command with what it printed and how it ended.
//!
//! Whatever differs from run to run (addresses, times) is masked; whatever would not survive an
//! editor (colours, spaces at the end of a line) is made visible. The same text must come of every
//! database.

use std::{
    fs,
    io::Read,
    os::{fd::OwnedFd, unix::fs::symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rustix::{
    fs::{CWD, Mode, OFlags, openat},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};

use crate::{Environment, Output, Server, WAIT_TIMEOUT, server::USER};

/// Patterns and their replacements, in this order.
const MASKS: &[(&str, &str)] = &[
    (r"fly_port=\d+", "fly_port=<port>"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000 UTC", "<time>"),
    (r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d UTC", "<time>"),
    (r"\b\d{10}\b", "<seconds>"),
    // Databases number rows that they give up in ways of their own.
    (r#""id": \d+"#, r#""id": <id>"#),
    (r"\b20[2-9]\d-\d\d-\d\d\b", "<date>"),
];

pub struct Transcript {
    home: PathBuf,
    url: String,
    text: String,
}

impl Transcript {
    /// A session in a home of its own.
    pub fn begin(server: &Server) -> Self {
        let home = server.home().join("session");
        fs::create_dir_all(home.join("bin")).unwrap();
        symlink(Environment::get().fly, home.join("bin/fly")).unwrap();
        Self {
            home,
            url: server.url(),
            text: String::new(),
        }
    }

    /// A session that is logged in as target `main`.
    pub fn logged_in(server: &Server) -> Self {
        let session = Self::begin(server);
        let login = format!("fly -t main login -c $URL -u {USER} -p {USER}");
        session.quietly(&login).succeeded();
        session
    }

    /// A file in the folder where the commands run.
    pub fn file(&self, name: &str, text: &str) -> &Self {
        fs::write(self.home.join(name), text).unwrap();
        self
    }

    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Runs a command line and writes it down. `$URL` is the server's address.
    #[track_caller]
    pub fn run(&mut self, line: &str) -> Output {
        let output = self.quietly(line);
        self.note(line, &output);
        output
    }

    /// Runs a command line that prints to a terminal.
    #[track_caller]
    pub fn on_terminal(&mut self, line: &str) {
        let (ours, theirs) = terminal();
        let mut command = self.command(line);
        let child = command.stdout(theirs).stderr(Stdio::piped()).spawn();
        // The terminal ends when no process holds its other side.
        drop(command);
        let child = child.expect("bash starts");
        let stdout = read_to_end(ours);
        let ended = child.wait_with_output().unwrap();
        let output = Output {
            code: ended.status.code(),
            stdout,
            stderr: String::from_utf8_lossy(&ended.stderr).into_owned(),
        };
        self.note(&format!("{line}    # on a terminal"), &output);
    }

    /// Runs a command line and keeps silent about it.
    pub fn quietly(&self, line: &str) -> Output {
        let ended = self.command(line).output().expect("bash starts");
        Output {
            code: ended.status.code(),
            stdout: String::from_utf8_lossy(&ended.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&ended.stderr).into_owned(),
        }
    }

    /// The command that runs a line; it ends by itself when it takes too long.
    pub fn command(&self, line: &str) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("timeout");
        command
            .args([&WAIT_TIMEOUT.as_secs().to_string(), "bash", "-c", line])
            .current_dir(&self.home)
            .env("HOME", &self.home)
            .env(
                "PATH",
                format!("{}:{path}", self.home.join("bin").display()),
            )
            .env("URL", &self.url)
            .env("TERM", "xterm")
            .env("TZ", "UTC")
            .stdin(Stdio::null());
        command
    }

    /// Writes a command down that was run some other way.
    pub fn note(&mut self, line: &str, output: &Output) {
        self.text += &format!("$ {line}\n");
        self.text += &visible(&without_frames(&output.stdout), "");
        self.text += &visible(&output.stderr, "stderr: ");
        match output.code {
            Some(0) => {}
            Some(code) => self.text += &format!("exit {code}\n"),
            None => self.text += "killed\n",
        }
        self.text.push('\n');
    }

    /// Adds a heading for readers of the snapshot.
    pub fn about(&mut self, words: &str) -> &mut Self {
        self.text += &format!("# {words}\n");
        self
    }

    /// Compares all of it with the snapshot of this name. `INSTA_UPDATE=always` accepts what is
    /// new.
    #[track_caller]
    pub fn compare(self, name: &str) {
        let text = self.text.replace(&self.url, "http://server");
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots"));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        for (mask, instead) in MASKS {
            settings.add_filter(mask, *instead);
        }
        settings.bind(|| insta::assert_snapshot!(name, text));
    }
}

/// Returns the text without what a prompt of fly draws, which is as many frames as there was time
/// for.
fn without_frames(text: &str) -> String {
    const FIRST: [&str; 2] = ["\x1b[?2026$p", "\x1b[?25l"];
    const LAST: [&str; 2] = ["\x1b[?2004l", "\x1b[?2027$p"];
    let begin = FIRST.iter().filter_map(|each| text.find(each)).min();
    let ends = LAST
        .iter()
        .filter_map(|each| Some(text.rfind(each)? + each.len()));
    match (begin, ends.max()) {
        (Some(begin), Some(end)) if begin < end => {
            format!("{}<prompt>{}", &text[..begin], &text[end..])
        }
        _ => text.to_owned(),
    }
}

/// Text as an editor leaves it alone, each line after the prefix.
fn visible(text: &str, prefix: &str) -> String {
    let mut shown = String::new();
    for line in text.split_terminator('\n') {
        let line = line
            .replace('\x1b', "\\e")
            .replace('\x08', "\\b")
            .replace('\r', "\\r");
        shown += &format!("{prefix}{line}");
        if line.ends_with(' ') {
            shown += "\\s";
        }
        shown.push('\n');
    }
    if !text.is_empty() && !text.ends_with('\n') {
        shown += "(no newline)\n";
    }
    shown
}

/// A terminal: our side and the program's.
fn terminal() -> (OwnedFd, OwnedFd) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&ours).expect("a terminal of ours");
    unlockpt(&ours).expect("a terminal of ours");
    let name = ptsname(&ours, Vec::new()).expect("a terminal has a name");
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let theirs = openat(CWD, name, flags, Mode::empty()).expect("the terminal opens");
    (ours, theirs)
}

/// Reads until no process holds the terminal's other side, which Linux reports as an error.
fn read_to_end(terminal: OwnedFd) -> String {
    let mut terminal = fs::File::from(terminal);
    let (mut text, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(read) = terminal.read(&mut piece)
        && read > 0
    {
        text.extend_from_slice(&piece[..read]);
    }
    String::from_utf8_lossy(&text).into_owned()
}
