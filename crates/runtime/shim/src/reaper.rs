//! Collects every process that ends: the one that was started, and as first process of a container
//! also the orphans of all processes.
//!
//! All of it happens on one thread, so a process cannot be collected between its start and
//! [`Reaper::watch`].
//!
//! *Guests* are processes that a person runs beside the step's. They are told apart by their kernel
//! session, which a process can leave but never join, so the step cannot pass for a guest.

use std::{
    collections::{HashMap, HashSet},
    fs, io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use tokio::{
    signal::unix::{Signal as Signals, SignalKind, signal},
    sync::{Notify, oneshot},
    time::{Duration, timeout},
};

/// Pause between two rounds of killing what the round before has orphaned.
const ROUND: Duration = Duration::from_millis(20);

#[derive(Clone)]
pub(crate) struct Reaper {
    watched: Arc<Mutex<HashMap<Pid, oneshot::Sender<WaitStatus>>>>,
    /// Kernel sessions that outlive the step.
    guests: Arc<Mutex<HashSet<i32>>>,
    collected: Arc<Notify>,
}

#[derive(PartialEq, Eq)]
enum Left {
    Some,
    None,
}

impl Reaper {
    /// Starts collecting.
    pub(crate) fn start() -> io::Result<Self> {
        let reaper = Self {
            watched: Arc::default(),
            guests: Arc::default(),
            collected: Arc::default(),
        };
        let ended = signal(SignalKind::child())?;
        tokio::spawn(reaper.clone().run(ended));
        Ok(reaper)
    }

    /// Returns the end of the process once it comes. To be called right after it was started, on
    /// the same thread.
    pub(crate) fn watch(&self, pid: Pid) -> oneshot::Receiver<WaitStatus> {
        let (sender, receiver) = oneshot::channel();
        self.watched
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(pid, sender);
        receiver
    }

    async fn run(self, mut ended: Signals) {
        loop {
            self.collect();
            self.collected.notify_waiters();
            if ended.recv().await.is_none() {
                return;
            }
        }
    }

    fn collect(&self) -> Left {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
                    if let Some(sender) = watched.remove(&pid) {
                        // The starter may no longer wait for it.
                        let _ = sender.send(status);
                    }
                }
                Ok(None) => return Left::Some,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return Left::None,
            }
        }
    }

    /// Kills whatever is left of the step's processes and waits until they are gone.
    pub(crate) async fn kill_all(&self) {
        loop {
            let collected = self.collected.notified();
            if self.kill_round() == Left::None {
                return;
            }
            // Killing a parent makes its children ours; those want killing too.
            let _ = timeout(ROUND, collected).await;
        }
    }

    /// Kills what there is of the step's processes at this moment.
    pub(crate) fn kill_now(&self) {
        self.kill_round();
    }

    fn kill_round(&self) -> Left {
        let guests = self.guests().clone();
        if guests.is_empty() {
            kill_everything();
            return self.collect();
        }
        let found = processes(|session| !guests.contains(&session));
        for pid in &found {
            let _ = rustix::process::kill_process(*pid, Signal::KILL);
        }
        // After the search: processes that were dead by then, and so not found, are gone when this
        // is over.
        self.collect();
        if found.is_empty() {
            Left::None
        } else {
            Left::Some
        }
    }

    fn guests(&self) -> MutexGuard<'_, HashSet<i32>> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the kernel session that `leader` has begun out of what is the step's. To be called
    /// right after it was started, on the same thread.
    pub(crate) fn host(&self, leader: Pid) -> Guest {
        let session = leader.as_raw_nonzero().get();
        self.guests().insert(session);
        Guest {
            reaper: self.clone(),
            session,
        }
    }
}

/// A guest's stay. It ends with all that runs in its kernel session.
pub(crate) struct Guest {
    reaper: Reaper,
    session: i32,
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mine = |pid: &Pid| session(*pid) == Some(self.session);
        for pid in everybody().into_iter().filter(mine) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        self.reaper.guests().remove(&self.session);
    }
}

/// Sends SIGKILL to every process of this container; where the shim is not its first process, to
/// the shim's own children.
pub(crate) fn kill_everything() {
    if std::process::id() == 1 {
        // SAFETY: kill has no memory effects. As first process of its namespace -1 reaches only the
        // others in it.
        unsafe { libc::kill(-1, libc::SIGKILL) };
        return;
    }
    for pid in children() {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

/// The living processes around us, other than ourselves, whose kernel session is wanted: all of the
/// container's where the shim is its first process, and its own children otherwise.
fn processes(wanted: impl Fn(i32) -> bool) -> Vec<Pid> {
    let around = match std::process::id() {
        1 => everybody(),
        _ => children(),
    };
    let own = rustix::process::getpid();
    around
        .into_iter()
        .filter(|pid| *pid != own && session(*pid).is_some_and(&wanted))
        .collect()
}

fn everybody() -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
        .collect()
}

/// The kernel session of a process, unless it has ended and only waits to be collected.
fn session(pid: Pid) -> Option<i32> {
    let path = format!("/proc/{}/stat", pid.as_raw_nonzero());
    let stat = fs::read_to_string(path).ok()?;
    // The name in parentheses may hold anything, parentheses too.
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_whitespace();
    let state = fields.next()?;
    let session = fields.nth(2)?.parse().ok()?;
    (state != "Z").then_some(session)
}

fn children() -> Vec<Pid> {
    let Ok(threads) = fs::read_dir("/proc/self/task") else {
        return Vec::new();
    };
    threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .flat_map(|list| {
            list.split_whitespace()
                .filter_map(|pid| Pid::from_raw(pid.parse().ok()?))
                .collect::<Vec<_>>()
        })
        .collect()
}
