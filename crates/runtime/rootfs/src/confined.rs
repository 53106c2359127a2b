//! The confined processes of the image store, as the server sees them: one for each question.

use std::{ffi::OsString, path::Path, process::Stdio, sync::Arc};

use airside_sandbox::{TakenUser, Users};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, ChildStderr, Command},
    sync::Semaphore,
};

use crate::{
    Error,
    wire::{PullerAnswer, PullerRequest},
};

/// Processes at a time; those that come then wait. There are more users than that.
const AT_ONCE: usize = 128;
/// Bytes of an answer.
const MAX_ANSWER: u64 = 1 << 20;
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
        let _turn = self.turns.acquire().await.map_err(|_| Error::Interrupted)?;
        let no_user = || Error::confined("every user for it is taken");
        let user = self.users.take().ok_or_else(no_user)?;
        let answer = self.run(folder, &user, ask).await;
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
        let mut said = Vec::new();
        let talk = async {
            // One that ends early says why.
            let _ = stdin.write_all(&question).await;
            drop(stdin);
            stdout.take(MAX_ANSWER).read_to_end(&mut said).await
        };
        let (heard, ()) = tokio::join!(talk, log(stderr));
        heard.map_err(Error::confined)?;
        ended(child, &said).await
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

/// The answer of a process that has said all it has to say.
async fn ended(mut child: Child, said: &[u8]) -> Result<PullerAnswer, Error> {
    if said.len() as u64 >= MAX_ANSWER {
        let _ = child.kill().await;
    }
    let status = child.wait().await.map_err(Error::confined)?;
    match serde_json::from_slice(said) {
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
