//! The workers there are, which of them may run a step, and what their runtimes see.

use std::{collections::HashMap, sync::Arc};

use airside_model::{Handle, WorkerName, WorkerState};
use airside_runtime::{AnyRuntime, Condition, Observed, Shape};
use futures::StreamExt;
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use crate::{leaving::States, request::StepRequest};

/// A worker, and the team and tags that it serves.
#[derive(Clone)]
pub struct WorkerEntry {
    pub runtime: AnyRuntime,
    /// A team's own worker serves that team alone.
    pub team: Option<String>,
    pub tags: Vec<String>,
}

/// All workers; clones share them. Which there are may change: see [`Workers::set`] and
/// [`Workers::join`].
#[derive(Clone)]
pub struct Workers {
    entries: Arc<RwLock<Entries>>,
    states: Arc<States>,
    seen: Arc<Mutex<HashMap<Handle, watch::Sender<Option<Observed>>>>>,
    destructions: Arc<Mutex<HashMap<Handle, Destruction>>>,
}

#[derive(Default)]
struct Entries {
    configured: Vec<WorkerEntry>,
    /// Workers that joined by themselves: agents.
    joined: Vec<WorkerEntry>,
    all: Arc<[WorkerEntry]>,
}

impl Entries {
    /// Puts all together again; those that were not there before.
    fn renew(&mut self) -> Vec<WorkerEntry> {
        let all: Arc<[WorkerEntry]> = self
            .configured
            .iter()
            .chain(&self.joined)
            .cloned()
            .collect();
        let before = std::mem::replace(&mut self.all, all);
        let is_new = |entry: &&WorkerEntry| {
            let known = |old: &WorkerEntry| Arc::ptr_eq(&old.runtime, &entry.runtime);
            !before.iter().any(known)
        };
        self.all.iter().filter(is_new).cloned().collect()
    }
}

/// The lock of a container's destruction. True once the container is destroyed.
pub(crate) type Destruction = Arc<tokio::sync::Mutex<bool>>;

impl Workers {
    /// A name for all workers that are trusted alike: those of one kind and team, and each that
    /// joined by itself alone.
    pub(crate) fn trust(&self, entry: &WorkerEntry) -> String {
        let worker = entry.runtime.worker();
        let entries = self.entries.read();
        let joined = entries
            .joined
            .iter()
            .any(|own| own.runtime.worker() == worker);
        let team = entry.team.as_deref().unwrap_or_default();
        if joined {
            format!("joined/{worker}/{team}")
        } else if entry.runtime.capabilities().mounts_volumes {
            format!("local/{team}")
        } else {
            format!("cluster/{team}")
        }
    }

    /// Takes the workers and watches what their runtimes see.
    pub fn new(entries: Vec<WorkerEntry>) -> Self {
        let workers = Self {
            entries: Arc::default(),
            states: Arc::default(),
            seen: Arc::default(),
            destructions: Arc::default(),
        };
        workers.set(entries);
        workers
    }

    /// Sets the workers of the configuration, in this order; those that joined come after them.
    /// Steps that follow a container through a worker that is not among them go on doing so: what
    /// they hold lasts as long as they do.
    pub fn set(&self, entries: Vec<WorkerEntry>) {
        self.renew(|known| known.configured = entries);
    }

    /// A worker came by itself. One of its name that joined before is replaced.
    pub fn join(&self, entry: WorkerEntry) {
        self.renew(|known| {
            let other = |old: &WorkerEntry| old.runtime.worker() != entry.runtime.worker();
            known.joined.retain(other);
            known.joined.push(entry);
        });
    }

    /// A worker that joined is not to be one any more.
    pub fn part(&self, worker: &WorkerName) {
        self.renew(|known| known.joined.retain(|old| old.runtime.worker() != worker));
    }

    fn renew(&self, change: impl FnOnce(&mut Entries)) {
        let fresh = {
            let mut entries = self.entries.write();
            change(&mut entries);
            entries.renew()
        };
        for entry in &fresh {
            self.listen(&entry.runtime);
        }
        self.states.tell();
    }

    /// Receives a runtime's observations and condition, until it is dropped.
    fn listen(&self, runtime: &AnyRuntime) {
        let mut observations = runtime.observe();
        let seen = self.seen.clone();
        airside_tasks::spawn("observations", async move {
            while let Some(observation) = observations.next().await {
                let mut seen = seen.lock();
                let sender = seen.entry(observation.handle).or_default();
                sender.send_replace(Some(observation.observed));
            }
        });
        if let Some(mut condition) = runtime.condition() {
            let states = self.states.clone();
            airside_tasks::spawn("worker condition", async move {
                while condition.changed().await.is_ok() {
                    states.tell();
                }
            });
        }
    }

    /// Returns the workers there are now, in the order of the configuration, then those that
    /// joined.
    pub fn entries(&self) -> Arc<[WorkerEntry]> {
        self.entries.read().all.clone()
    }

    pub fn get(&self, name: &WorkerName) -> Option<WorkerEntry> {
        let entries = self.entries();
        let found = entries.iter().find(|entry| entry.runtime.worker() == name);
        found.cloned()
    }

    /// Returns the observations of a placement, from the current one on.
    pub(crate) fn watch(&self, handle: &Handle) -> watch::Receiver<Option<Observed>> {
        self.seen
            .lock()
            .entry(handle.clone())
            .or_default()
            .subscribe()
    }

    /// Returns the lock of a placement's destruction. Locks that no caller holds are forgotten.
    pub(crate) fn destruction(&self, handle: &Handle) -> Destruction {
        let mut destructions = self.destructions.lock();
        destructions.retain(|_, destruction| Arc::strong_count(destruction) > 1);
        destructions.entry(handle.clone()).or_default().clone()
    }

    pub(crate) fn unwatch(&self, handle: &Handle) {
        self.seen.lock().remove(handle);
    }

    pub(crate) fn states(&self) -> &States {
        &self.states
    }

    /// The worker for a step.
    pub(crate) fn choose(&self, wants: &Wants<'_>) -> Result<WorkerEntry, NoWorker> {
        let entries = self.entries();
        let mut fitting: Vec<Candidate<'_>> = entries
            .iter()
            .filter(|entry| entry.fits(wants.team, wants.tags))
            .map(|entry| Candidate {
                entry,
                state: self.states.of(entry.runtime.worker()),
                condition: entry.condition(),
            })
            .filter(|candidate| candidate.state != WorkerState::Retired)
            .collect();
        if fitting.is_empty() {
            return Err(NoWorker::Nowhere(nowhere(wants.team, wants.tags)));
        }
        // A team's own workers go first; among equals the order of configuration decides.
        fitting.sort_by_key(|candidate| candidate.entry.team.is_none());
        let cannot: Vec<String> = fitting
            .iter()
            .filter_map(|candidate| candidate.cannot(&wants.shapes))
            .collect();
        if cannot.len() == fitting.len() {
            for candidate in &fitting {
                candidate.entry.runtime.doubt();
            }
            return Err(NoWorker::Nowhere(cannot.join("; ")));
        }
        fitting.retain(|candidate| candidate.cannot(&wants.shapes).is_none());
        let mut running = fitting.iter().filter(|candidate| candidate.is_running());
        if let Some(candidate) = running.next() {
            return Ok(candidate.entry.clone());
        }
        let away: Vec<String> = fitting.iter().map(Candidate::away).collect();
        Err(NoWorker::Away(away.join(", ")))
    }

    /// Returns the reasons of all workers if none of them can run even a plain step.
    pub(crate) fn obstacle(&self) -> Option<String> {
        let entries = self.entries();
        let cannot = |entry: &WorkerEntry| {
            let words = entry.condition().cannot(&[Shape::Plain])?;
            Some(format!("worker {} {words}", entry.runtime.worker()))
        };
        let reasons: Option<Vec<String>> = entries.iter().map(cannot).collect();
        let reasons = reasons.filter(|reasons| !reasons.is_empty())?;
        Some(reasons.join("; "))
    }

    /// Returns true if one of the workers for such a step leaves pulling images to nodes.
    pub(crate) fn may_pull_images(&self, team: &str, tags: &[String]) -> bool {
        let pulls = |entry: &WorkerEntry| entry.runtime.capabilities().pulls_images;
        let entries = self.entries();
        entries
            .iter()
            .any(|entry| entry.fits(team, tags) && pulls(entry))
    }

    /// Returns true if there are workers for such a step and all of them leave pulling images to
    /// nodes.
    pub(crate) fn only_nodes_pull(&self, team: &str, tags: &[String]) -> bool {
        let entries = self.entries();
        let mut fitting = entries
            .iter()
            .filter(|entry| entry.fits(team, tags))
            .peekable();
        let pulls = |entry: &WorkerEntry| entry.runtime.capabilities().pulls_images;
        fitting.peek().is_some() && fitting.all(pulls)
    }

    /// Returns a worker's condition as its runtime reports it.
    pub(crate) fn condition(&self, worker: &WorkerName) -> Condition {
        let entry = self.get(worker);
        entry.map(|entry| entry.condition()).unwrap_or_default()
    }
}

/// The requirements of a step on its worker.
pub(crate) struct Wants<'a> {
    pub(crate) team: &'a str,
    pub(crate) tags: &'a [String],
    pub(crate) shapes: Vec<Shape>,
}

impl<'a> Wants<'a> {
    /// A step about which nothing more is known.
    pub(crate) fn plain(team: &'a str, tags: &'a [String]) -> Self {
        Self {
            team,
            tags,
            shapes: vec![Shape::Plain],
        }
    }

    pub(crate) fn of(request: &'a StepRequest) -> Self {
        Self {
            team: &request.labels.team,
            tags: &request.tags,
            shapes: Shape::of(&request.image, request.privileged, request.hermetic),
        }
    }
}

/// A worker that serves the team and has the tags, as it is now.
struct Candidate<'a> {
    entry: &'a WorkerEntry,
    state: WorkerState,
    condition: Condition,
}

impl Candidate<'_> {
    fn is_running(&self) -> bool {
        self.state == WorkerState::Running && self.condition.stalled.is_none()
    }

    fn cannot(&self, shapes: &[Shape]) -> Option<String> {
        let words = self.condition.cannot(shapes)?;
        Some(format!("worker {} {words}", self.entry.runtime.worker()))
    }

    fn away(&self) -> String {
        let (worker, state) = (self.entry.runtime.worker(), self.state);
        match &self.condition.stalled {
            Some(words) if state == WorkerState::Running => {
                format!("worker {worker} is stalled: {words}")
            }
            _ => format!("worker {worker} is {state}"),
        }
    }
}

/// The reason why there is no worker for a step, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoWorker {
    /// No worker is there that could ever run the step.
    Nowhere(String),
    /// The workers that could run the step take no steps now.
    Away(String),
}

fn nowhere(team: &str, tags: &[String]) -> String {
    let wanted = match tags {
        [] => String::new(),
        tags => format!(", tags '{}'", tags.join("', '")),
    };
    format!(
        "no workers satisfying: platform 'linux'{wanted}, team '{team}'; \
         `fly workers` lists what there is"
    )
}

impl WorkerEntry {
    fn condition(&self) -> Condition {
        let condition = self.runtime.condition();
        condition
            .map(|now| now.borrow().clone())
            .unwrap_or_default()
    }

    /// Untagged steps run on untagged workers only, tagged ones where every tag is known.
    fn fits(&self, team: &str, tags: &[String]) -> bool {
        let serves = self.team.as_deref().is_none_or(|own| own == team);
        let tagged = match tags {
            [] => self.tags.is_empty(),
            tags => tags.iter().all(|tag| self.tags.contains(tag)),
        };
        serves && tagged
    }
}

#[cfg(test)]
mod tests;
