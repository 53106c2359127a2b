//! Containers that take checks as guests, by name, and the turn to make one where there is none.
//!
//! ```text
//! nothing ─ find ─▶ booked ─ find by a placer ─▶ placing ─ offer ─▶ there ─ lost, old ─▶ nothing
//!                                                    └── refused: the reason is kept for a while
//! ```
//!
//! However many callers ask for a name at once, one of them places and the others wait. A name
//! identifies the team, the worker and the contents; this file knows nothing of that. No I/O.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

use airside_model::Handle;
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, Semaphore},
    time::Instant,
};

use crate::container_ref::ContainerRef;

/// Number of checks at once in one container: twice as many as may run of resources that fail, so
/// that those that hang never hold up the others.
const AT_ONCE: usize = 128;
/// Interval at which the use of a container is noted in the store. One that was used within it does
/// not make room.
const NOTE: Duration = Duration::from_secs(60);
/// Time for which a container that could not be placed is not tried again, unless a person asks for
/// a check.
const HOLD_OFF: Duration = Duration::from_secs(15);

/// Containers that take guests, and those about to.
#[derive(Default)]
pub(crate) struct Hosts {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    by_name: HashMap<String, Entry>,
    /// Hosts that take no new guests and still have some.
    leaving: Vec<Weak<Host>>,
    tickets: u64,
}

enum Entry {
    Coming { ticket: u64, by: Asker },
    There(Arc<Host>),
    Refused { words: String, until: Instant },
}

/// A container that takes guests.
pub struct Host {
    pub(crate) container_ref: ContainerRef,
    pub(crate) places: Semaphore,
    used: Mutex<Used>,
    /// Time from which the host takes no new guests: its contents may be outdated.
    until: Option<Instant>,
}

struct Used {
    last: Instant,
    noted: Instant,
}

impl Host {
    fn new(container_ref: ContainerRef, lifetime: Option<Duration>) -> Self {
        let now = Instant::now();
        Self {
            container_ref,
            places: Semaphore::new(AT_ONCE),
            used: Mutex::new(Used {
                last: now,
                noted: now,
            }),
            until: lifetime.map(|lifetime| airside_model::deadline_after(now, lifetime)),
        }
    }

    /// Notes that the host is used. Returns true if the store should note it too.
    pub(crate) fn touch(&self) -> bool {
        let (now, mut used) = (Instant::now(), self.used.lock());
        used.last = now;
        let is_due = now.duration_since(used.noted) >= NOTE;
        if is_due {
            used.noted = now;
        }
        is_due
    }

    fn is_busy(&self) -> bool {
        self.places.available_permits() < AT_ONCE || self.used.lock().last.elapsed() < NOTE
    }

    fn is_old(&self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }
}

/// The kind of caller that looks for a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// The caller makes a host if there is none.
    Placer,
    /// The caller sees to it that a placer comes.
    Booker,
}

/// The result of a look for a host.
pub enum HostLookup {
    There(Arc<Host>),
    /// There is no host, and others wait for what the asker does about it.
    Nothing(HostTicket),
    /// Making the host was tried a moment ago, and this is why it failed.
    Refused(String),
}

/// The turn to make a host. Dropped unused, it is the next one's.
pub struct HostTicket {
    hosts: Arc<Hosts>,
    name: String,
    number: u64,
}

impl HostTicket {
    /// Reports that the host cannot be made: callers that wait need not try.
    pub fn refuse(self, words: &str) {
        let entry = Entry::Refused {
            words: words.to_owned(),
            until: Instant::now() + HOLD_OFF,
        };
        self.replace(Some(entry));
    }

    pub(crate) fn offer(
        self,
        container_ref: ContainerRef,
        lifetime: Option<Duration>,
    ) -> Arc<Host> {
        let host = Arc::new(Host::new(container_ref, lifetime));
        self.replace(Some(Entry::There(host.clone())));
        host
    }

    fn replace(&self, entry: Option<Entry>) {
        let mut state = self.hosts.state.lock();
        let own = state.by_name.get(&self.name);
        if matches!(own, Some(Entry::Coming { ticket, .. }) if *ticket == self.number) {
            match entry {
                Some(entry) => state.by_name.insert(self.name.clone(), entry),
                None => state.by_name.remove(&self.name),
            };
            self.hosts.changed.notify_waiters();
        }
    }
}

impl Drop for HostTicket {
    fn drop(&mut self) {
        self.replace(None);
    }
}

impl Hosts {
    /// Finds a host, and waits while another caller makes it. With `anew`, one that failed a moment
    /// ago is tried again.
    pub(crate) async fn find(self: &Arc<Self>, name: &str, asker: Asker, anew: bool) -> HostLookup {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(found) = self.look(name, asker, anew) {
                return found;
            }
            changed.await;
        }
    }

    fn look(self: &Arc<Self>, name: &str, asker: Asker, anew: bool) -> Option<HostLookup> {
        let mut state = self.state.lock();
        match state.by_name.get(name) {
            Some(Entry::There(host)) if host.is_old() => {
                let host = Arc::downgrade(host);
                state.leaving.retain(|left| left.strong_count() > 0);
                state.leaving.push(host);
            }
            Some(Entry::There(host)) => return Some(HostLookup::There(host.clone())),
            Some(Entry::Coming { by, .. }) if *by == Asker::Placer || asker == *by => return None,
            Some(Entry::Refused { words, until }) if !anew && *until > Instant::now() => {
                return Some(HostLookup::Refused(words.clone()));
            }
            _ => {}
        }
        state.tickets += 1;
        let number = state.tickets;
        let entry = Entry::Coming {
            ticket: number,
            by: asker,
        };
        state.by_name.insert(name.to_owned(), entry);
        Some(HostLookup::Nothing(HostTicket {
            hosts: self.clone(),
            name: name.to_owned(),
            number,
        }))
    }

    /// Withdraws a container: no further check may use it.
    pub(crate) fn withdraw(&self, handle: &Handle) {
        let mut state = self.state.lock();
        state.by_name.retain(|_, entry| match entry {
            Entry::There(host) if host.container_ref.handle == *handle => {
                host.places.close();
                false
            }
            _ => true,
        });
        self.changed.notify_waiters();
    }

    /// Returns true if checks may run in this container, or still do.
    pub(crate) fn has(&self, handle: &Handle) -> bool {
        self.any(handle, |_| true)
    }

    /// Returns true if checks run in the container, or did a moment ago.
    pub(crate) fn is_busy(&self, handle: &Handle) -> bool {
        self.any(handle, Host::is_busy)
    }

    fn any(&self, handle: &Handle, fits: impl Fn(&Host) -> bool) -> bool {
        let state = self.state.lock();
        let fits = |host: &Host| host.container_ref.handle == *handle && fits(host);
        let mut there = state.by_name.values();
        there.any(|entry| matches!(entry, Entry::There(host) if fits(host)))
            || state.leaving.iter().any(|left| {
                let left = left.upgrade();
                left.is_some_and(|host| fits(&host))
            })
    }
}

#[cfg(test)]
mod tests;
