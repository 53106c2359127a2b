//! Starts the process of the step. Waiting for it is the reaper's.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use airside_model::event::Source;
use airside_protocol::{Executable, Exit, OWN_PROGRAM, Order};
use rustix::{
    pipe::{PipeFlags, pipe_with},
    process::{Gid, Pid, Signal, Uid, WaitStatus},
};
use tokio::{sync::oneshot, task::JoinHandle};

use crate::{
    confine::Jail,
    environment, executable,
    outbox::Outbox,
    output::pump,
    reaper::Reaper,
    stream::Stream,
    terminal,
    users::{self, User},
};

pub(crate) struct Process {
    group: Pid,
    pub(crate) exited: oneshot::Receiver<WaitStatus>,
    /// Tasks that end when no process can write to the process's streams any more.
    pub(crate) output: Vec<JoinHandle<()>>,
}

impl Process {
    /// Sends `signal` to the whole process group. A group without processes is fine.
    pub(crate) fn signal(&self, signal: Signal) {
        let _ = rustix::process::kill_process_group(self.group, signal);
    }
}

/// Returns the end of the process in the protocol's terms.
pub(crate) fn exit(status: WaitStatus) -> Exit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => {
            Exit::Broken("the process ended in a way the kernel has no word for".into())
        }
    }
}

/// Starts what the order says, in a session of its own.
pub(crate) fn start(
    order: &Order,
    user: &User,
    jail: &Arc<Jail>,
    reaper: &Reaper,
    outbox: &Arc<Outbox>,
) -> Result<Process, Exit> {
    let launched = launch(order, user, jail, reaper)?;
    let output = launched.ours.attend(order.stdin.clone(), outbox);
    Ok(Process {
        group: launched.pid,
        exited: launched.exited,
        output,
    })
}

/// A process that runs, and whose streams are not attended to yet.
pub(crate) struct Launched {
    pub(crate) pid: Pid,
    pub(crate) exited: oneshot::Receiver<WaitStatus>,
    pub(crate) ours: Ours,
}

/// Starts what the order says; it has a standard input if the order has one, be it empty.
pub(crate) fn launch(
    order: &Order,
    user: &User,
    jail: &Arc<Jail>,
    reaper: &Reaper,
) -> Result<Launched, Exit> {
    let mut command = command(order, user)?;
    let streams = Streams::open(order).map_err(|error| {
        Exit::Broken(format!(
            "cannot make the streams of the process: {}",
            airside_model::chain(&error)
        ))
    })?;
    let (ours, held) = streams.give(&mut command, user).map_err(|error| {
        Exit::Broken(format!(
            "cannot hand the process its streams: {}",
            airside_model::chain(&error)
        ))
    })?;
    become_user(&mut command, user, jail, order.tty.is_some());
    let child = command
        .spawn()
        .map_err(|error| explain(&command, user, &error))?;
    let pid = Pid::from_child(&child);
    let exited = holding(held, reaper.watch(pid));
    // The command still holds the process's ends; as long as it does, they never close.
    drop(command);
    Ok(Launched { pid, exited, ours })
}

/// Keeps the process's end of its terminal open until it has ended. It may close all of its own and
/// go on; then the terminal would seem to be at its end, and closing ours would kill it.
fn holding(
    held: Option<OwnedFd>,
    exited: oneshot::Receiver<WaitStatus>,
) -> oneshot::Receiver<WaitStatus> {
    let Some(held) = held else { return exited };
    let (tell, told) = oneshot::channel();
    tokio::spawn(async move {
        let status = exited.await;
        drop(held);
        if let Ok(status) = status {
            // The receiver may have gone.
            let _ = tell.send(status);
        }
    });
    told
}

fn command(order: &Order, user: &User) -> Result<Command, Exit> {
    // What the runtime says of home, it read in the image that the shim was started in.
    let own = std::env::vars_os().filter(|(name, _)| order.image.is_none() || name != "HOME");
    let own = environment::for_user(own, shims_home(user));
    let environment = environment::build(own, &order.env, user);
    let dir = Path::new(&order.dir);
    let mut command = match &order.run {
        Executable::Shim => Command::new(OWN_PROGRAM),
        Executable::Path(wanted) => {
            let search = environment.get(OsStr::new("PATH")).map(OsString::as_os_str);
            let path: PathBuf = executable::find(wanted, dir, search.unwrap_or_default())
                .map_err(Exit::NotFound)?;
            let mut command = Command::new(path);
            command.arg0(wanted);
            command
        }
    };
    command
        .args(&order.args)
        .env_clear()
        .envs(environment)
        .current_dir(dir);
    Ok(command)
}

/// Returns the home that the container runtime found for the shim's user, where the process is to
/// be another: the account's, or `/` without one.
fn shims_home(user: &User) -> Option<String> {
    let own = rustix::process::getuid().as_raw();
    (user.uid != own).then(|| users::home_of(own).unwrap_or_else(|| "/".to_owned()))
}

/// Arranges for the new process to leave our session, enter the step's jail and become the user,
/// just before it executes.
fn become_user(command: &mut Command, user: &User, jail: &Arc<Jail>, terminal: bool) {
    let (switch, jail) = (switch(user), jail.clone());
    let prepare = move || -> io::Result<()> {
        rustix::process::setsid()?;
        if terminal {
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
        }
        jail.enter()?;
        if let Some((uid, gid, groups)) = &switch {
            rustix::thread::set_thread_groups(groups)?;
            rustix::thread::set_thread_res_gid(*gid, *gid, *gid)?;
            rustix::thread::set_thread_res_uid(*uid, *uid, *uid)?;
        }
        jail.lock()
    };
    // SAFETY: between fork and exec, `prepare` only makes system calls on values made before.
    unsafe { command.pre_exec(prepare) };
}

/// Returns the ids to change to. None if the process is to have the shim's: that needs no rights.
fn switch(user: &User) -> Option<(Uid, Gid, Vec<Gid>)> {
    let own = (
        rustix::process::getuid().as_raw(),
        rustix::process::getgid().as_raw(),
    );
    if user.name.is_none() || own == (user.uid, user.gid) {
        return None;
    }
    let groups = user.groups.iter().map(|gid| Gid::from_raw(*gid)).collect();
    Some((Uid::from_raw(user.uid), Gid::from_raw(user.gid), groups))
}

fn explain(command: &Command, user: &User, error: &io::Error) -> Exit {
    let path = Path::new(command.get_program()).display();
    match error.raw_os_error() {
        Some(libc::ENOENT) => Exit::NotFound(format!(
            "{path} cannot be executed: the interpreter or loader that it names does not exist"
        )),
        Some(libc::EACCES) => Exit::NotFound(format!(
            "{path} cannot be executed by user {}: permission denied",
            user.name.as_deref().unwrap_or("root")
        )),
        Some(libc::ENOEXEC) => Exit::NotFound(format!(
            "{path} cannot be executed: it is neither a program for this machine nor begins with #!"
        )),
        Some(libc::EPERM) => Exit::Broken(format!(
            "the process cannot become user {}: the container may not switch users",
            user.name.as_deref().unwrap_or("root")
        )),
        _ => Exit::Broken(format!(
            "{path} cannot be executed: {}",
            airside_model::chain(&error)
        )),
    }
}

/// Both ends of everything between us and the process.
enum Streams {
    Terminal(terminal::Terminal),
    Pipes {
        stdin: Option<(OwnedFd, OwnedFd)>,
        stdout: (OwnedFd, OwnedFd),
        stderr: (OwnedFd, OwnedFd),
    },
}

/// Our ends.
pub(crate) enum Ours {
    Terminal(Arc<Stream>),
    Pipes {
        stdin: Option<Stream>,
        stdout: Arc<Stream>,
        stderr: Arc<Stream>,
    },
}

impl Streams {
    fn open(order: &Order) -> io::Result<Self> {
        if let Some(size) = order.tty {
            return Ok(Self::Terminal(terminal::open(size)?));
        }
        let pipe = || pipe_with(PipeFlags::CLOEXEC);
        let stdin = order.stdin.as_ref().map(|_| pipe()).transpose()?;
        Ok(Self::Pipes {
            stdin,
            stdout: pipe()?,
            stderr: pipe()?,
        })
    }

    /// Gives the process its ends and keeps ours; and one end of its terminal, to be held as long
    /// as it runs.
    fn give(self, command: &mut Command, user: &User) -> io::Result<(Ours, Option<OwnedFd>)> {
        match self {
            Self::Terminal(terminal::Terminal { outer, inner }) => {
                own(&inner, user);
                command
                    .stdin(inner.try_clone()?)
                    .stdout(inner.try_clone()?)
                    .stderr(inner.try_clone()?);
                let ours = Ours::Terminal(Arc::new(Stream::terminal(outer)?));
                Ok((ours, Some(inner)))
            }
            Self::Pipes {
                stdin,
                stdout,
                stderr,
            } => {
                own(&stdout.1, user);
                own(&stderr.1, user);
                command
                    .stdin(Stdio::null())
                    .stdout(stdout.1)
                    .stderr(stderr.1);
                let stdin = match stdin {
                    Some((theirs, ours)) => {
                        own(&theirs, user);
                        command.stdin(theirs);
                        Some(Stream::pipe(ours)?)
                    }
                    None => None,
                };
                let stdout = Arc::new(Stream::pipe(stdout.0)?);
                let stderr = Arc::new(Stream::pipe(stderr.0)?);
                let ours = Ours::Pipes {
                    stdin,
                    stdout,
                    stderr,
                };
                Ok((ours, None))
            }
        }
    }
}

/// Lets the user open its own streams by name (`> /dev/stderr`).
fn own(stream: impl AsFd, user: &User) {
    if !user.is_root() {
        // Where we may not, the streams still work by number.
        let _ = rustix::fs::fchown(stream, Some(Uid::from_raw(user.uid)), None);
    }
}

impl Ours {
    fn attend(self, input: Option<String>, outbox: &Arc<Outbox>) -> Vec<JoinHandle<()>> {
        match self {
            Self::Terminal(stream) => {
                if let Some(input) = input {
                    let stream = stream.clone();
                    tokio::spawn(async move { feed(&stream, &input).await });
                }
                vec![pump(stream, Source::Stdout, outbox.clone())]
            }
            Self::Pipes {
                stdin,
                stdout,
                stderr,
            } => {
                if let (Some(stream), Some(input)) = (stdin, input) {
                    tokio::spawn(async move { feed(&stream, &input).await });
                }
                vec![
                    pump(stdout, Source::Stdout, outbox.clone()),
                    pump(stderr, Source::Stderr, outbox.clone()),
                ]
            }
        }
    }
}

async fn feed(stream: &Stream, input: &str) {
    // A process that does not want all of its input may close it.
    let _ = stream.write_all(input.as_bytes()).await;
}
