//! The workers there are, which of them may run a step, and what their runtimes see.

use std::{collections::HashMap, sync::Arc};

use airside_model::{Handle, WorkerName, WorkerState};
use airside_runtime::{AnyPlacement, Observed};
use futures::StreamExt;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::leaving::States;

/// A placement target and whom it serves.
#[derive(Clone)]
pub struct WorkerEntry {
    pub placement: AnyPlacement,
    /// A team's own worker serves that team alone.
    pub team: Option<String>,
    pub tags: Vec<String>,
}

/// All workers; clones share them.
#[derive(Clone)]
pub struct Workers {
    entries: Arc<[WorkerEntry]>,
    states: Arc<States>,
    seen: Arc<Mutex<HashMap<Handle, watch::Sender<Option<Observed>>>>>,
    destructions: Arc<Mutex<HashMap<Handle, Destruction>>>,
}

/// Held by whoever destroys a container; tells the next one whether it was done.
pub(crate) type Destruction = Arc<tokio::sync::Mutex<bool>>;

impl Workers {
    /// Takes the workers and watches what their runtimes see.
    pub fn new(entries: Vec<WorkerEntry>) -> Self {
        let workers = Self {
            entries: entries.into(),
            states: Arc::default(),
            seen: Arc::default(),
            destructions: Arc::default(),
        };
        for entry in workers.entries.iter() {
            let mut observations = entry.placement.observe();
            let seen = workers.seen.clone();
            tokio::spawn(async move {
                while let Some(observation) = observations.next().await {
                    let mut seen = seen.lock();
                    let sender = seen.entry(observation.handle).or_default();
                    sender.send_replace(Some(observation.observed));
                }
            });
        }
        workers
    }

    pub fn iter(&self) -> impl Iterator<Item = &WorkerEntry> {
        self.entries.iter()
    }

    pub fn get(&self, name: &WorkerName) -> Option<&WorkerEntry> {
        self.entries
            .iter()
            .find(|entry| entry.placement.worker() == name)
    }

    /// What the runtime sees of a placement, now and from now on.
    pub(crate) fn watch(&self, handle: &Handle) -> watch::Receiver<Option<Observed>> {
        self.seen
            .lock()
            .entry(handle.clone())
            .or_default()
            .subscribe()
    }

    /// The turn to destroy a placement. Destructions that nobody waits for any more are forgotten.
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
    pub(crate) fn choose(&self, team: &str, tags: &[String]) -> Result<&WorkerEntry, NoWorker> {
        let fitting = self.entries.iter().filter(|entry| entry.fits(team, tags));
        let mut fitting: Vec<(&WorkerEntry, WorkerState)> = fitting
            .map(|entry| (entry, self.states.of(entry.placement.worker())))
            .filter(|(_, state)| *state != WorkerState::Retired)
            .collect();
        // A team's own workers go first; among equals the order of configuration decides.
        fitting.sort_by_key(|(entry, _)| entry.team.is_none());
        let mut running = fitting
            .iter()
            .filter(|(_, state)| *state == WorkerState::Running);
        if let Some((entry, _)) = running.next() {
            return Ok(entry);
        }
        if fitting.is_empty() {
            return Err(NoWorker::Nowhere(nowhere(team, tags)));
        }
        let away = fitting
            .iter()
            .map(|(entry, state)| format!("worker {} is {state}", entry.placement.worker()));
        Err(NoWorker::Away(away.collect::<Vec<_>>().join(", ")))
    }
}

/// Why there is no worker for a step, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoWorker {
    /// None is there that could ever run it.
    Nowhere(String),
    /// Those that could run it take no steps now.
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
