//! One checker process as the server sees it.

use std::{
    collections::HashMap,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use airside_model::{Version, chain};
use airside_resource_types::ServedImage;
use airside_sandbox::TakenUser;
use airside_secret_managers::{Error, Secret};
use bytes::BytesMut;
use futures::StreamExt as _;
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::{
    io::{AsyncWriteExt as _, BufReader},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    sync::{mpsc, oneshot},
};
use tokio_util::{
    codec::{FramedRead, LengthDelimitedCodec},
    sync::CancellationToken,
    task::TaskTracker,
};
use tracing::{debug, info, warn};

use crate::{
    checkers::{Home, Options},
    lines::next_line,
    scratch::{Folder, Scratch},
    wire::{self, MAX_FRAME, MAX_OUTPUT, Say, What, WorkRequest},
};

/// Lines of its standard error that reach the server's log.
const LOGGED: usize = 100;

pub(crate) struct Process {
    requests: mpsc::UnboundedSender<Vec<u8>>,
    waiting: Mutex<Waiting>,
    next: AtomicU64,
    /// A check that took too long may still be in there: no new one goes in.
    worn: AtomicBool,
    ended: CancellationToken,
}

#[derive(Default)]
struct Waiting {
    checks: HashMap<u64, Waiter>,
    /// End of the process, once it has ended.
    end: Option<String>,
    used: Option<Instant>,
    answered: bool,
}

struct Waiter {
    output: String,
    done: oneshot::Sender<RequestEnd>,
}

/// The end of a request in the process.
pub(crate) enum RequestEnd {
    Found {
        versions: Vec<Version>,
        output: String,
    },
    Failed {
        output: String,
    },
    /// The answer of a secret manager.
    Secret(Result<Option<Secret>, Error>),
    /// A registry served the documents of an image.
    Image(ServedImage),
    Died {
        how: String,
        output: String,
    },
}

/// A request that was sent. Dropping it gives it up.
pub(crate) struct SentRequest {
    process: Arc<Process>,
    id: u64,
    pub(crate) end: oneshot::Receiver<RequestEnd>,
}

impl Drop for SentRequest {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl SentRequest {
    /// Waits for the request no longer. Returns its output so far.
    pub(crate) fn give_up(&mut self) -> String {
        let waiter = self.process.waiting.lock().checks.remove(&self.id);
        let Some(waiter) = waiter else {
            return String::new();
        };
        // Its thread cannot be stopped; the process can, once no other request needs it.
        self.process.worn.store(true, Ordering::Relaxed);
        self.process.end_if_worn();
        waiter.output
    }
}

impl Process {
    pub(crate) fn start(
        team: &str,
        options: &Options,
        home: &Home,
        attended: &TaskTracker,
    ) -> std::io::Result<Arc<Self>> {
        let scratch = {
            let mut home = home.lock();
            let home = match &mut *home {
                Some(home) => home,
                none => none.insert(Scratch::open(&options.scratch)?),
            };
            home.folder()?
        };
        // Where there is none left, only Landlock lets it share one.
        let user = options.users.take();
        let number = user.as_ref().map(TakenUser::number);
        let mut child = command(options, &scratch, number)?.spawn()?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(std::io::Error::other("no pipes to the checker"));
        };
        let (requests, receiver) = mpsc::unbounded_channel();
        let process = Arc::new(Self {
            requests,
            waiting: Mutex::default(),
            next: AtomicU64::new(1),
            worn: AtomicBool::new(false),
            ended: CancellationToken::new(),
        });
        debug!(team, pid = child.id(), "checker started");
        airside_tasks::spawn(
            "checker input",
            write(stdin, receiver, process.ended.clone()),
        );
        airside_tasks::spawn("checker log", log(stderr, team.to_owned()));
        let (own, team, idle) = (process.clone(), team.to_owned(), options.idle);
        let attending = async move {
            own.attend(child, stdout, scratch, &team, idle).await;
            // Only now: nothing of the process is left that another one of this user could meet.
            drop(user);
        };
        attended.spawn(airside_tasks::named("checker", attending));
        Ok(process)
    }

    /// Returns true if the process takes checks.
    pub(crate) fn is_good(&self) -> bool {
        !self.worn.load(Ordering::Relaxed) && self.waiting.lock().end.is_none()
    }

    /// Returns true if the process ever answered.
    pub(crate) fn has_answered(&self) -> bool {
        self.waiting.lock().answered
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting.lock().checks.len()
    }

    pub(crate) fn ask(self: &Arc<Self>, what: What) -> Result<SentRequest, usize> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let ask = WorkRequest { id, what };
        let Ok(frame) = wire::encode(&ask) else {
            return Err(MAX_FRAME);
        };
        let (done, end) = oneshot::channel();
        let mut waiting = self.waiting.lock();
        waiting.used = Some(Instant::now());
        match &waiting.end {
            Some(how) => {
                let (how, output) = (how.clone(), String::new());
                let _ = done.send(RequestEnd::Died { how, output });
            }
            None => {
                let output = String::new();
                waiting.checks.insert(id, Waiter { output, done });
                // The task that writes frames ends only with the process, whose end reaches this
                // request.
                let _ = self.requests.send(frame);
            }
        }
        drop(waiting);
        Ok(SentRequest {
            process: self.clone(),
            id,
            end,
        })
    }

    /// Asks it to end, whatever it does.
    pub(crate) fn end(&self) {
        self.ended.cancel();
    }

    fn end_if_worn(&self) {
        if self.worn.load(Ordering::Relaxed) && self.waiting.lock().checks.is_empty() {
            self.end();
        }
    }

    /// Handles what the process says until it ends, and ends it when it has nothing to do for long.
    async fn attend(
        &self,
        mut child: Child,
        stdout: ChildStdout,
        scratch: Folder,
        team: &str,
        idle: Duration,
    ) {
        let group = child
            .id()
            .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let how = tokio::select! {
            how = self.hear(stdout, team) => how,
            () = self.ended.cancelled() => "it was asked to".to_owned(),
            () = self.idle(idle) => "it had nothing to do".to_owned(),
        };
        if let Some(group) = group {
            if how.is_empty() {
                let_exit(group).await;
            }
            // Its programs, too. The group is ours for as long as its leader is not waited for.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let status = child.wait().await;
        let how = match status {
            Ok(status) if how.is_empty() => status.to_string(),
            _ => how,
        };
        self.ended.cancel();
        let checks = {
            let mut waiting = self.waiting.lock();
            waiting.end = Some(how.clone());
            std::mem::take(&mut waiting.checks)
        };
        if !checks.is_empty() {
            warn!(
                team,
                how,
                checks = checks.len(),
                "checker ended in the middle of checks"
            );
        } else {
            debug!(team, how, "checker ended");
        }
        for Waiter { output, done } in checks.into_values() {
            let how = how.clone();
            let _ = done.send(RequestEnd::Died { how, output });
        }
        drop(scratch);
    }

    /// Takes what it says to those who wait. Ends when it says no more; empty words if by itself.
    async fn hear(&self, stdout: ChildStdout, team: &str) -> String {
        let codec = LengthDelimitedCodec::builder()
            .max_frame_length(MAX_FRAME)
            .new_codec();
        let mut frames = FramedRead::new(stdout, codec);
        while let Some(frame) = frames.next().await {
            let said = frame
                .map_err(|error| chain(&error))
                .and_then(|bytes| understand(&bytes));
            match said {
                Ok(say) => self.take_in(say, team),
                Err(words) => return format!("its answer cannot be understood: {words}"),
            }
        }
        String::new()
    }

    fn take_in(&self, say: Say, team: &str) {
        match say {
            Say::Ready { without } => {
                self.waiting.lock().answered = true;
                match without.as_slice() {
                    [] => debug!(team, "checker confined"),
                    without => {
                        let missing = without.join(", ");
                        info!(team, missing, "checker is confined less than it could be");
                    }
                }
            }
            Say::Output { id, text } => {
                if let Some(waiter) = self.waiting.lock().checks.get_mut(&id) {
                    // The checker keeps to it, too; but it is not trusted.
                    let room = (MAX_OUTPUT + 200).saturating_sub(waiter.output.len());
                    waiter.output.extend(text.chars().take(room));
                }
            }
            Say::Found { id, versions } => {
                self.end_request(id, |output| RequestEnd::Found { versions, output });
            }
            Say::Failed { id } => self.end_request(id, |output| RequestEnd::Failed { output }),
            Say::Secret { id, said } => self.end_request(id, |_| RequestEnd::Secret(said)),
            Say::Image { id, image } => self.end_request(id, |_| RequestEnd::Image(image)),
        }
    }

    /// Ends a request, given the output on the way.
    fn end_request(&self, id: u64, ended: impl FnOnce(String) -> RequestEnd) {
        let waiter = self.waiting.lock().checks.remove(&id);
        if let Some(Waiter { output, done }) = waiter {
            let _ = done.send(ended(output));
        }
        self.end_if_worn();
    }

    /// Resolves once nothing was requested for this time.
    async fn idle(&self, idle: Duration) {
        loop {
            tokio::time::sleep(idle).await;
            let waiting = self.waiting.lock();
            let unused = waiting.used.is_none_or(|used| used.elapsed() >= idle);
            if unused && waiting.checks.is_empty() {
                return;
            }
        }
    }
}

/// A process that has closed its output is about to exit, and the status it does that with says
/// why.
async fn let_exit(process: Pid) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    for _ in 0..100 {
        if !matches!(waitid(WaitId::Pid(process), options), Ok(None)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn understand(bytes: &BytesMut) -> Result<Say, String> {
    serde_json::from_slice(bytes).map_err(|error| chain(&error))
}

fn command(options: &Options, scratch: &Folder, user: Option<u32>) -> std::io::Result<Command> {
    let [program, leading @ ..] = options.program.as_slice() else {
        return Err(std::io::Error::other("no checker program is configured"));
    };
    let mut command = Command::new(program);
    command
        .args(leading)
        .arg(user.map_or_else(|| "none".to_owned(), |user| user.to_string()))
        .arg(scratch.path())
        .env_clear()
        .envs(airside_sandbox::passed_on())
        .env("HOME", scratch.path())
        .env("TMPDIR", scratch.path())
        .env("LANG", "C.UTF-8")
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A group of its own: signals to the server's terminal are not for it, and its programs end
        // with it.
        .process_group(0)
        .kill_on_drop(true);
    Ok(command)
}

async fn write(
    mut stdin: ChildStdin,
    mut requests: mpsc::UnboundedReceiver<Vec<u8>>,
    ended: CancellationToken,
) {
    let writing = async {
        while let Some(mut bytes) = requests.recv().await {
            // What came meanwhile goes with it.
            while bytes.len() < 64 << 10
                && let Ok(more) = requests.try_recv()
            {
                bytes.extend(more);
            }
            if stdin.write_all(&bytes).await.is_err() {
                return;
            }
        }
    };
    ended.run_until_cancelled(writing).await;
}

async fn log(stderr: ChildStderr, team: String) {
    let mut stderr = BufReader::new(stderr);
    let mut number: usize = 0;
    while let Ok(Some(line)) = next_line(&mut stderr).await {
        number = number.saturating_add(1);
        if number <= LOGGED {
            warn!(team, line, "output of a checker received");
        }
    }
}
