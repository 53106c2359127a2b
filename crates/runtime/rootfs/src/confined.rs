//! The confined processes of the image store, as the server sees them: one for each question.

use std::{
    ffi::OsString,
    io,
    path::Path,
    process::Stdio,
    sync::Arc,
    time::{Duration, Instant},
};

use airside_sandbox::{TakenUser, Users};
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStderr, Command},
    sync::Semaphore,
};

use crate::{
    Error, PullListener,
    wire::{PullerAnswer, PullerRequest},
};

/// Processes at a time; those that come then wait. There are more users than that.
const AT_ONCE: usize = 128;
/// Bytes of an answer.
const MAX_ANSWER: u64 = 1 << 20;
/// Lines of progress: two in a second for half a day.
const MAX_LINES: u32 = 100_000;
/// Shortest time between two reports that a listener gets.
const INTERVAL: Duration = Duration::from_millis(200);
/// Bytes of its standard error that reach the server's log.
const LOGGED: usize = 64 << 10;

/// Starts confined processes.
pub(crate) struct Confined {
    /// Program and leading arguments: `airside puller`.
    program: Vec<OsString>,
    users: Users,
    turns: Arc<Semaphore>,
}

impl Confined {
    pub(crate) fn new(program: Vec<OsString>) -> Self {
        Self {
            program,
            users: Users::of_images(),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// Asks a process that may write to `folder` alone. Dropping the future ends the process.
    pub(crate) async fn ask(
        &self,
        folder: &Path,
        ask: &PullerRequest,
    ) -> Result<PullerAnswer, Error> {
        self.ask_reporting(folder, ask, &|_| ()).await
    }

    /// [`Confined::ask`] with the progress of what the process does, as far as it can be true.
    pub(crate) async fn ask_reporting(
        &self,
        folder: &Path,
        ask: &PullerRequest,
        listener: PullListener<'_>,
    ) -> Result<PullerAnswer, Error> {
        let _turn = self.turns.acquire().await.map_err(|_| Error::Interrupted)?;
        let no_user = || Error::confined("every user for it is taken");
        let user = self.users.take().ok_or_else(no_user)?;
        let answer = self.run(folder, &user, ask, listener).await;
        drop(user);
        match answer? {
            PullerAnswer::Broken(words) => Err(Error::confined(words)),
            PullerAnswer::DiskFull => Err(Error::DiskFull {
                path: folder.to_owned(),
            }),
            answer => Ok(answer),
        }
    }

    async fn run(
        &self,
        folder: &Path,
        user: &TakenUser,
        ask: &PullerRequest,
        listener: PullListener<'_>,
    ) -> Result<PullerAnswer, Error> {
        let question = serde_json::to_vec(ask).map_err(Error::confined)?;
        let mut child = self
            .command(folder, user)?
            .spawn()
            .map_err(Error::confined)?;
        let (Some(mut stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Error::confined("it has no pipes"));
        };
        let talk = async {
            // One that ends early says why.
            let _ = stdin.write_all(&question).await;
            drop(stdin);
            last_line(BufReader::new(stdout), listener).await
        };
        let (said, ()) = tokio::join!(talk, log(stderr));
        ended(child, said.map_err(Error::confined)?.as_deref()).await
    }

    fn command(&self, folder: &Path, user: &TakenUser) -> Result<Command, Error> {
        let [program, leading @ ..] = self.program.as_slice() else {
            return Err(Error::confined("no program is configured"));
        };
        let mut command = Command::new(program);
        command
            .args(leading)
            .arg(user.number().to_string())
            .arg(folder)
            .env_clear()
            .envs(airside_sandbox::passed_on())
            // Its working folder is all that it may write to.
            .env("HOME", ".")
            .env("TMPDIR", ".")
            .env("LANG", "C.UTF-8")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // An interrupt at the server's terminal is not meant for it.
            .process_group(0)
            .kill_on_drop(true);
        Ok(command)
    }
}

/// Passes the progress of a process on, at most once in [`INTERVAL`], and returns the line that is
/// none, without reading further. None: the process says more than it may.
async fn last_line(
    mut stdout: impl AsyncBufRead + Unpin,
    listener: PullListener<'_>,
) -> io::Result<Option<Vec<u8>>> {
    let mut passed_on: Option<Instant> = None;
    for _ in 0..MAX_LINES {
        let mut line = Vec::new();
        let mut bounded = (&mut stdout).take(MAX_ANSWER);
        bounded.read_until(b'\n', &mut line).await?;
        if line.len() as u64 >= MAX_ANSWER {
            return Ok(None);
        }
        let Ok(PullerAnswer::Progress(progress)) = serde_json::from_slice(&line) else {
            return Ok(Some(line));
        };
        if passed_on.is_none_or(|at| at.elapsed() >= INTERVAL) {
            passed_on = Some(Instant::now());
            listener(progress.bounded());
        }
    }
    Ok(None)
}

/// Returns the answer of a process that has ended; none if it does not end.
async fn ended(mut child: Child, said: Option<&[u8]>) -> Result<PullerAnswer, Error> {
    if said.is_none() {
        let _ = child.kill().await;
    }
    let status = child.wait().await.map_err(Error::confined)?;
    match serde_json::from_slice(said.unwrap_or_default()) {
        Ok(answer) if status.success() => Ok(answer),
        _ => Err(Error::confined(format!(
            "it ended without an answer: {status}"
        ))),
    }
}

/// Passes on what it prints, up to a limit, and reads the rest so that it can go on.
async fn log(mut stderr: ChildStderr) {
    let mut buffer = vec![0; 4 << 10];
    let mut left = LOGGED;
    while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
        let shown = &buffer[..count.min(left)];
        left -= shown.len();
        if !shown.is_empty() {
            let text = String::from_utf8_lossy(shown);
            tracing::debug!(text = text.trim_end(), "output of a puller received");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use airside_pulls::{PullProgress, PullStage};

    use super::*;

    /// The line that is not progress, and the progress that was passed on.
    async fn heard(said: &[u8]) -> (Option<Vec<u8>>, Vec<PullProgress>) {
        let seen = Mutex::new(Vec::new());
        let listener = |progress| seen.lock().unwrap().push(progress);
        let line = last_line(said, &listener).await.unwrap();
        (line, seen.into_inner().unwrap())
    }

    #[tokio::test]
    async fn progress_comes_before_the_answer() {
        let said = b"{\"progress\":{\"layers\":2,\"bytes\":9}}\n\"done\"\n";
        let (line, seen) = heard(said).await;
        assert_eq!(line.as_deref(), Some(&b"\"done\"\n"[..]));
        assert_eq!(seen, [PullProgress::start(PullStage::Fetching, 2, 9)]);
        let (line, seen) = heard(b"").await;
        assert_eq!((line, seen.len()), (Some(Vec::new()), 0));
    }

    #[tokio::test]
    async fn hostile_progress_is_bounded_in_number_rate_and_size() {
        let endless = b"{\"progress\":{\"layers\":18446744073709551615}}\n";
        let (line, seen) = heard(&endless.repeat(MAX_LINES as usize + 1)).await;
        assert_eq!(line, None);
        assert!(seen.len() < 1000, "{}", seen.len());
        assert!(seen.iter().all(|progress| progress.layers <= 10_000));
        let (line, _) = heard(&vec![b'x'; MAX_ANSWER as usize + 1]).await;
        assert_eq!(line, None);
    }
}
