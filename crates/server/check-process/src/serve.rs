//! The checker from inside: confines itself, then answers until its standard input ends.
//!
//! Threads, because native types block (a git program, a slow server). There are as many as checks
//! under way, up to a limit; what comes then waits here.

use std::{
    collections::VecDeque,
    ffi::OsString,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use airside_resource_types::{CheckInput, Object, Privilege};
use airside_secret_managers::Pool;

use crate::{
    sandbox,
    wire::{self, MAX_OUTPUT, Say, What, WorkRequest},
};

/// Maximum number of threads, and so of checks at once. A thread that waits costs little more than
/// its stack.
pub(crate) const THREADS: usize = 1024;
pub(crate) const STACK: usize = 1 << 20;

/// `checker [--metadata-access] <user> <scratch folder>`: the process that the server starts.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args = airside_resource_types::limit_reach(args);
    let [user, scratch] = args.as_slice() else {
        return complain("usage: checker <user> <scratch folder>; the server starts it by itself");
    };
    let user = user.to_str().and_then(|user| user.parse().ok());
    let scratch = PathBuf::from(scratch);
    std::panic::set_hook(Box::new(|panic| {
        complain(&panic.to_string());
        // The server learns of it at once, whatever the build profile says of panics.
        std::process::abort();
    }));
    let without = match sandbox::enter(&scratch, user) {
        Ok(without) => without,
        Err(error) => {
            return complain(&format!(
                "cannot be confined: {}",
                airside_model::chain(&error)
            ));
        }
    };
    let ended = answer_all(without);
    sandbox::leave(&scratch);
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&airside_model::chain(&error)),
    }
}

/// The server logs what is printed here.
fn complain(words: &str) -> ExitCode {
    let _ = writeln!(io::stderr(), "checker: {words}");
    ExitCode::FAILURE
}

fn answer_all(without: Vec<String>) -> io::Result<()> {
    let queue = Arc::new(WorkQueue::default());
    queue.say(&Say::Ready { without })?;
    let mut stdin = io::BufReader::new(io::stdin().lock());
    while let Some(ask) = wire::read::<WorkRequest>(&mut stdin)? {
        let needs_thread = queue.take_in(ask);
        if needs_thread {
            let queue = queue.clone();
            let thread = std::thread::Builder::new().stack_size(STACK);
            // Where there is no room for another, those that are there do the work.
            let _ = thread.spawn(move || queue.work());
        }
    }
    Ok(())
}

/// Requests that wait, and the way of the answers.
#[derive(Default)]
struct WorkQueue {
    waiting: Mutex<Waiting>,
    something: Condvar,
    out: Mutex<()>,
    /// Secret managers that were asked before, and may still be logged in.
    managers: Pool,
}

#[derive(Default)]
struct Waiting {
    requests: VecDeque<WorkRequest>,
    threads: usize,
    idle: usize,
}

impl WorkQueue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a request. Returns true if it needs another thread.
    fn take_in(&self, ask: WorkRequest) -> bool {
        let mut waiting = self.lock();
        waiting.requests.push_back(ask);
        if waiting.idle >= waiting.requests.len() {
            self.something.notify_one();
            return false;
        }
        let room = waiting.threads < THREADS;
        waiting.threads += usize::from(room);
        room
    }

    fn work(&self) {
        loop {
            let WorkRequest { id, what } = self.next();
            let answer = match what {
                What::Check {
                    type_,
                    source,
                    version,
                } => self.check(id, &type_, CheckInput { source, version }),
                What::Secret {
                    type_,
                    config,
                    path,
                } => {
                    let said = self.managers.read(&type_, &config, &path);
                    Say::Secret { id, said }
                }
                What::Image { source, reference } => self.image(id, source, &reference),
            };
            if let Err(error) = self.say(&answer) {
                self.too_long(id, &error);
            }
        }
    }

    fn check(&self, id: u64, type_: &str, request: CheckInput) -> Say {
        let mut log = Output::new(self, id);
        match airside_resource_types::check(type_, request, Privilege::Unprivileged, &mut log) {
            Ok(versions) => {
                log.end();
                Say::Found { id, versions }
            }
            Err(failure) => log.failed(&failure),
        }
    }

    fn image(&self, id: u64, source: Object, reference: &str) -> Say {
        let mut log = Output::new(self, id);
        match airside_resource_types::served_image(source, reference, &mut log) {
            Ok(image) => {
                log.end();
                Say::Image { id, image }
            }
            Err(failure) => log.failed(&failure),
        }
    }

    fn next(&self) -> WorkRequest {
        let mut waiting = self.lock();
        loop {
            if let Some(ask) = waiting.requests.pop_front() {
                return ask;
            }
            waiting.idle += 1;
            waiting = self
                .something
                .wait(waiting)
                .unwrap_or_else(PoisonError::into_inner);
            waiting.idle -= 1;
        }
    }

    fn say(&self, frame: &Say) -> io::Result<()> {
        let bytes = wire::encode(frame)?;
        let _turn = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stdout = io::stdout().lock();
        stdout.write_all(&bytes)?;
        stdout.flush()
    }

    /// Reports an answer that no frame holds as a failure. If even that cannot be sent, the server
    /// is gone and the end of standard input is near.
    fn too_long(&self, id: u64, error: &io::Error) {
        let text = format!(
            "the answer cannot be sent: {}\n",
            airside_model::chain(&error)
        );
        let _ = self.say(&Say::Output { id, text });
        let _ = self.say(&Say::Failed { id });
    }
}

/// The output of a check, sent line by line up to a limit.
struct Output<'a> {
    queue: &'a WorkQueue,
    id: u64,
    line: Vec<u8>,
    sent: usize,
    left_out: usize,
}

impl<'a> Output<'a> {
    fn new(queue: &'a WorkQueue, id: u64) -> Self {
        Self {
            queue,
            id,
            line: Vec::new(),
            sent: 0,
            left_out: 0,
        }
    }

    fn send(&mut self) {
        if self.line.is_empty() {
            return;
        }
        let text = String::from_utf8_lossy(&self.line).into_owned();
        self.sent += self.line.len();
        self.line.clear();
        let _ = self.queue.say(&Say::Output { id: self.id, text });
    }

    /// The end of something that did not succeed: its reason is the last that is printed.
    fn failed(mut self, failure: &airside_resource_types::Failure) -> Say {
        // There is nowhere to go with an error about the log itself.
        let _ = writeln!(self, "{failure}");
        self.end();
        Say::Failed { id: self.id }
    }

    fn end(&mut self) {
        self.send();
        if self.left_out > 0 {
            let left_out = self.left_out;
            let text = format!("\n({left_out} more bytes of output were left out)\n");
            let _ = self.queue.say(&Say::Output { id: self.id, text });
        }
    }
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = MAX_OUTPUT.saturating_sub(self.sent + self.line.len());
        let (kept, rest) = bytes.split_at(bytes.len().min(room));
        self.left_out += rest.len();
        self.line.extend_from_slice(kept);
        if self.line.ends_with(b"\n") {
            self.send();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send();
        Ok(())
    }
}
