//! Collects every process that ends: the one that was started, and as first process of a container
//! also everybody's orphans.
//!
//! All of it happens on one thread, so a process cannot be collected between its start and
//! [`Reaper::watch`].

use std::{
    collections::HashMap,
    fs, io,
    sync::{Arc, Mutex, PoisonError},
};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use tokio::{
    signal::unix::{Signal as Signals, SignalKind, signal},
    sync::{Notify, oneshot},
    time::{Duration, timeout},
};

/// Between two rounds of killing what the round before has orphaned.
const ROUND: Duration = Duration::from_millis(20);

#[derive(Clone)]
pub(crate) struct Reaper {
    watched: Arc<Mutex<HashMap<Pid, oneshot::Sender<WaitStatus>>>>,
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
            collected: Arc::default(),
        };
        let ended = signal(SignalKind::child())?;
        tokio::spawn(reaper.clone().run(ended));
        Ok(reaper)
    }

    /// How the process ends. To be called right after it was started, on the same thread.
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
                        // Whoever started it may no longer want to know.
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
            kill_everything();
            let collected = self.collected.notified();
            if self.collect() == Left::None {
                return;
            }
            // Killing a parent makes its children ours; those want killing too.
            let _ = timeout(ROUND, collected).await;
        }
    }
}

/// Sends SIGKILL to every process of this container; where the shim is not its first process, to the
/// shim's own children.
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
