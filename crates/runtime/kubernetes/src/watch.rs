//! The one watch of a target: keeps the state of every pod, and reports changes to all observers.
//!
//! The API server may be away for any time; the watch returns when it does, and pods that went
//! meanwhile are reported as gone. A pod that this process never saw is not reported at all: ask
//! `list`.

mod late;
mod room;

use std::{
    collections::{HashMap, HashSet, VecDeque},
    pin::pin,
    sync::{Arc, Weak},
};

use airside_model::{Handle, chain};
use airside_runtime::{Cause, Observation, Observed};
use futures::{StreamExt, TryStreamExt, stream, stream::BoxStream};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    runtime::{WatchStreamExt, watcher},
};
use parking_lot::Mutex;
use tokio::{
    sync::broadcast::{self, error::RecvError},
    time::Instant,
};
use tracing::{debug, info, warn};

use crate::{observed::observed, room::PodShare};
use late::LatePods;
use room::Room;
pub(crate) use room::{Full, Reserved};

/// Number of changes by which an observer may be late before it starts again from the current
/// states.
const BACKLOG: usize = 4096;

/// The observed states of the target's pods.
pub(crate) struct Watched {
    states: Mutex<HashMap<Handle, Observed>>,
    /// The share of each pod. Locked after the states, if both are.
    held: Mutex<HashMap<Handle, PodShare>>,
    room: Room,
    late: LatePods,
    changes: broadcast::Sender<Observation>,
}

impl Watched {
    pub(crate) fn new() -> Arc<Self> {
        let (changes, _) = broadcast::channel(BACKLOG);
        Arc::new(Self {
            states: Mutex::default(),
            held: Mutex::default(),
            room: Room::default(),
            late: LatePods::default(),
            changes,
        })
    }

    /// Follows the pods a selector names, for ever.
    pub(crate) async fn follow(self: Arc<Self>, pods: Api<Pod>, selector: String) {
        let config = watcher::Config::default().labels(&selector);
        let mut events = pin!(watcher(pods, config).default_backoff());
        let (mut listed, mut away) = (HashSet::new(), false);
        let mut ticks = tokio::time::interval(late::LATE_INTERVAL);
        loop {
            let next = tokio::select! {
                next = events.try_next() => next,
                _ = ticks.tick() => {
                    self.publish_late(Instant::now());
                    continue;
                }
            };
            match next {
                Ok(None) => return,
                Ok(Some(event)) => {
                    // The first event of a new watch comes before a request was sent.
                    if !matches!(event, watcher::Event::Init) && std::mem::take(&mut away) {
                        info!(selector, "watch of pods resumed");
                    }
                    self.take(event, &mut listed);
                }
                Err(error) => {
                    if !std::mem::replace(&mut away, true) {
                        warn!(selector, error = %chain(&error), "watch of pods interrupted");
                    }
                }
            }
        }
    }

    fn take(&self, event: watcher::Event<Pod>, listed: &mut HashSet<Handle>) {
        match event {
            watcher::Event::Init => {
                debug!("pods listed anew");
                listed.clear();
            }
            watcher::Event::InitApply(pod) => {
                listed.extend(handle(&pod));
                self.apply(&pod);
            }
            watcher::Event::InitDone => self.keep(listed),
            watcher::Event::Apply(pod) => self.apply(&pod),
            watcher::Event::Delete(pod) => self.remove(&pod),
        }
    }

    fn apply(&self, pod: &Pod) {
        let Some(handle) = handle(pod) else { return };
        let observed = self.late.note(&handle, pod, observed(pod), Instant::now());
        let mut states = self.states.lock();
        self.held.lock().insert(handle.clone(), PodShare::of(pod));
        self.room.seen(&handle);
        if states.get(&handle) != Some(&observed) {
            states.insert(handle.clone(), observed.clone());
            self.publish(Observation { handle, observed });
        }
    }

    fn remove(&self, pod: &Pod) {
        let Some(handle) = handle(pod) else { return };
        // The last version may tell more than the one before: how its container ended.
        self.apply(pod);
        let mut states = self.states.lock();
        self.held.lock().remove(&handle);
        self.late.retain(|known| *known != handle);
        if let Some(before) = states.remove(&handle) {
            self.publish_removed(handle, before);
        }
    }

    /// Takes a new list: pods that are not on it went while the watch was interrupted.
    fn keep(&self, listed: &HashSet<Handle>) {
        let mut states = self.states.lock();
        self.room.counted();
        self.held.lock().retain(|handle, _| listed.contains(handle));
        self.late.retain(|handle| listed.contains(handle));
        for (handle, before) in states.extract_if(|handle, _| !listed.contains(handle)) {
            self.publish_removed(handle, before);
        }
    }

    /// Publishes the words of pods that have waited for too long in silence.
    fn publish_late(&self, now: Instant) {
        let mut states = self.states.lock();
        for (handle, observed) in self.late.overdue(now) {
            if states.get(&handle) != Some(&Observed::pending()) {
                continue;
            }
            states.insert(handle.clone(), observed.clone());
            self.publish(Observation { handle, observed });
        }
    }

    fn publish_removed(&self, handle: Handle, before: Observed) {
        let (node, reason) = match before {
            Observed::Gone { .. } => return,
            Observed::Leaving { node, reason } => (node, reason),
            Observed::Silent { node, .. } => {
                let reason = "the pod was deleted, its node did not answer";
                (node, reason.to_owned())
            }
            Observed::Started { node } => (node, "the pod was deleted".to_owned()),
            Observed::Pending { .. } | Observed::Doomed { .. } => {
                (None, "the pod was deleted".to_owned())
            }
        };
        self.publish(Observation {
            handle,
            observed: Observed::Gone {
                node,
                reason,
                cause: Cause::Removed,
            },
        });
    }

    /// Sends a change to all observers. Called with the states locked, so that a new observer
    /// misses nothing and gets nothing twice.
    fn publish(&self, observation: Observation) {
        // Without observers there is nothing to do.
        let _ = self.changes.send(observation);
    }

    /// Returns the shares of the pods that are there, but for those that have ended.
    pub(crate) fn held(&self) -> Vec<PodShare> {
        let states = self.states.lock();
        let ended = |handle| matches!(states.get(handle), Some(Observed::Gone { .. }));
        let held = self.held.lock();
        let there = held.iter().filter(|(handle, _)| !ended(handle));
        there.map(|(_, held)| held.clone()).collect()
    }

    /// Reserves room for one more pod, unless there are `max` already. A pod that is there or has
    /// room keeps it.
    pub(crate) fn reserve(
        self: &Arc<Self>,
        handle: &Handle,
        max: Option<u32>,
    ) -> Result<Reserved, Full> {
        let states = self.states.lock();
        let there = |observed: &&Observed| !matches!(observed, Observed::Gone { .. });
        let count = states.values().filter(there).count();
        if !states.contains_key(handle) {
            self.room.take(handle, count, max)?;
        }
        Ok(Reserved {
            watched: self.clone(),
            handle: Some(handle.clone()),
        })
    }

    /// The current states, then every change. Ends when the watch does.
    pub(crate) fn observe(self: &Arc<Self>) -> BoxStream<'static, Observation> {
        let states = self.states.lock();
        let mut observer = Observer {
            changes: self.changes.subscribe(),
            watched: Arc::downgrade(self),
            alive: HashMap::new(),
            due: VecDeque::new(),
        };
        observer.catch_up(&states);
        drop(states);
        stream::unfold(observer, |mut observer| async move {
            observer
                .next()
                .await
                .map(|observation| (observation, observer))
        })
        .boxed()
    }
}

fn handle(pod: &Pod) -> Option<Handle> {
    pod.metadata.name.clone().map(Handle)
}

struct Observer {
    changes: broadcast::Receiver<Observation>,
    /// Weak: an observer must not keep a watch alive that its runtime has given up.
    watched: Weak<Watched>,
    /// The last state of each pod that this observer got and that is not gone.
    alive: HashMap<Handle, Observed>,
    due: VecDeque<Observation>,
}

impl Observer {
    async fn next(&mut self) -> Option<Observation> {
        loop {
            if let Some(observation) = self.due.pop_front() {
                self.note(&observation);
                return Some(observation);
            }
            match self.changes.recv().await {
                Ok(observation) => self.due.push_back(observation),
                Err(RecvError::Closed) => return None,
                Err(RecvError::Lagged(_)) => {
                    let watched = self.watched.upgrade()?;
                    let states = watched.states.lock();
                    self.changes = watched.changes.subscribe();
                    self.catch_up(&states);
                }
            }
        }
    }

    fn note(&mut self, observation: &Observation) {
        let Observation { handle, observed } = observation.clone();
        match observed {
            Observed::Gone { .. } => self.alive.remove(&handle),
            other => self.alive.insert(handle, other),
        };
    }

    /// Returns all that differs from what this observer got.
    fn catch_up(&mut self, states: &HashMap<Handle, Observed>) {
        for handle in self
            .alive
            .keys()
            .filter(|handle| !states.contains_key(handle))
        {
            let reason = "the pod was deleted".to_owned();
            let observed = Observed::Gone {
                node: None,
                reason,
                cause: Cause::Removed,
            };
            self.due.push_back(Observation {
                handle: handle.clone(),
                observed,
            });
        }
        for (handle, observed) in states {
            if self.alive.get(handle) != Some(observed) {
                let (handle, observed) = (handle.clone(), observed.clone());
                self.due.push_back(Observation { handle, observed });
            }
        }
    }
}

#[cfg(test)]
mod tests;
