//! Which resources are to be checked and when, and which are being checked. No I/O and no clock: the loop
//! says what time it is and does what comes out.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    time::Duration,
};

use airside_model::{PipelineId, ResourceId};
use airside_schedule::{
    Moment,
    checks::{CheckFacts, CheckPolicy, Due, Interval, due},
    graph::Resource,
};

use crate::{phase, queue::Queue};

/// What is overdue when the server starts is spread over this, or its interval.
const SPREAD: Duration = Duration::from_secs(60);

/// What time it is, by the clock on the wall and by one that never jumps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub(crate) wall: Moment,
    /// Since the server started.
    pub(crate) run: Duration,
}

/// How a resource comes to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// With all others, when the server starts.
    AtStart,
    /// Somebody set its pipeline.
    Later,
    /// Somebody wants a resource of its pipeline checked.
    Asked,
}

/// A resource as the desk is told of it.
#[derive(Clone, Debug)]
pub(crate) struct Known<S> {
    pub(crate) resource: Resource,
    pub(crate) facts: CheckFacts,
    pub(crate) spec: S,
}

struct Entry<S> {
    known: Known<S>,
    pipeline_is_paused: bool,
    running: bool,
    /// Somebody wants a check that begins after they asked.
    asked: bool,
}

/// A check that is to begin now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) resource: ResourceId,
    /// Somebody waits for it: no limit holds it up.
    pub(crate) asked: bool,
    /// How many failed before it.
    pub(crate) failures: u32,
}

pub(crate) struct Desk<S> {
    policy: CheckPolicy,
    entries: HashMap<ResourceId, Entry<S>>,
    pipelines: HashMap<PipelineId, BTreeSet<ResourceId>>,
    queue: Queue<ResourceId, Duration>,
    asked: Vec<ResourceId>,
}

impl<S> Desk<S> {
    pub(crate) fn new(policy: CheckPolicy) -> Self {
        Self {
            policy,
            entries: HashMap::new(),
            pipelines: HashMap::new(),
            queue: Queue::new(),
            asked: Vec::new(),
        }
    }

    /// What a pipeline has now, in place of what it had.
    pub(crate) fn set_pipeline(
        &mut self,
        pipeline: PipelineId,
        is_paused: bool,
        resources: Vec<Known<S>>,
        arrival: Arrival,
        now: Now,
    ) {
        let ids: BTreeSet<ResourceId> = resources.iter().map(|known| known.resource.id).collect();
        let before = self.pipelines.remove(&pipeline).unwrap_or_default();
        for gone in before.difference(&ids) {
            self.forget(*gone);
        }
        for known in resources {
            let id = known.resource.id;
            let before = self.entries.remove(&id);
            let (running, asked) =
                before.map_or((false, false), |entry| (entry.running, entry.asked));
            self.entries.insert(
                id,
                Entry {
                    known,
                    pipeline_is_paused: is_paused,
                    running,
                    asked,
                },
            );
            self.place(id, arrival, now);
        }
        if !ids.is_empty() {
            self.pipelines.insert(pipeline, ids);
        }
    }

    /// Whether a check of one of its resources is under way, or wanted.
    pub(crate) fn is_busy(&self, pipeline: PipelineId) -> bool {
        let resources = self.pipelines.get(&pipeline).into_iter().flatten();
        let mut entries = resources.filter_map(|resource| self.entries.get(resource));
        entries.any(|entry| entry.running || entry.asked)
    }

    pub(crate) fn remove_pipeline(&mut self, pipeline: PipelineId) {
        for gone in self.pipelines.remove(&pipeline).unwrap_or_default() {
            self.forget(gone);
        }
    }

    /// Pipelines that are none of these are gone.
    pub(crate) fn retain_pipelines(&mut self, there: &HashSet<PipelineId>) {
        let gone: Vec<PipelineId> = self
            .pipelines
            .keys()
            .filter(|pipeline| !there.contains(pipeline))
            .copied()
            .collect();
        for pipeline in gone {
            self.remove_pipeline(pipeline);
        }
    }

    pub(crate) fn spec(&self, resource: ResourceId) -> Option<&S> {
        Some(&self.entries.get(&resource)?.known.spec)
    }

    /// Asks for a check that begins from now on. `false`: there is no such resource.
    pub(crate) fn ask(&mut self, resource: ResourceId) -> bool {
        let Some(entry) = self.entries.get_mut(&resource) else {
            return false;
        };
        if !entry.asked {
            entry.asked = true;
            if !entry.running {
                self.asked.push(resource);
            }
        }
        true
    }

    /// The next check to begin now; from here on it is under way. If only those that were asked for
    /// are wanted, the others stay due.
    pub(crate) fn start(&mut self, now: Now, only_asked: bool) -> Option<Start> {
        loop {
            let resource = match self.asked.pop() {
                Some(resource) => resource,
                None if only_asked => return None,
                None => self.queue.pop(now.run)?,
            };
            let Some(entry) = self.entries.get_mut(&resource) else {
                continue;
            };
            if entry.running {
                continue;
            }
            entry.running = true;
            self.queue.remove(resource);
            return Some(Start {
                resource,
                asked: std::mem::take(&mut entry.asked),
                failures: entry.known.facts.failures,
            });
        }
    }

    /// When to look again, if nothing happens until then.
    pub(crate) fn next(&mut self) -> Option<Duration> {
        match self.asked.is_empty() {
            true => self.queue.next(),
            false => Some(Duration::ZERO),
        }
    }

    /// A check has ended, and this is what is known now. `None`: it is to be tried again as if it
    /// had not been.
    pub(crate) fn finished(&mut self, resource: ResourceId, facts: Option<CheckFacts>, now: Now) {
        let Some(entry) = self.entries.get_mut(&resource) else {
            return;
        };
        entry.running = false;
        if let Some(facts) = facts {
            entry.known.facts = facts;
        }
        if entry.asked {
            self.asked.push(resource);
        }
        self.place(resource, Arrival::Later, now);
    }

    /// Somebody else checked it, or its pin changed.
    pub(crate) fn learn(
        &mut self,
        resource: ResourceId,
        change: impl FnOnce(&mut Known<S>),
        now: Now,
    ) {
        if let Some(entry) = self.entries.get_mut(&resource) {
            change(&mut entry.known);
            self.place(resource, Arrival::Later, now);
        }
    }

    fn forget(&mut self, resource: ResourceId) {
        self.entries.remove(&resource);
        self.queue.remove(resource);
    }

    /// Puts a resource where it belongs in the queue.
    fn place(&mut self, id: ResourceId, arrival: Arrival, now: Now) {
        let Some(entry) = self.entries.get(&id).filter(|entry| !entry.running) else {
            return;
        };
        let Known {
            resource, facts, ..
        } = &entry.known;
        let paused = entry.pipeline_is_paused;
        let Due::At(at, _) = due(resource, *facts, &self.policy, paused, now.wall) else {
            self.queue.remove(id);
            return;
        };
        let wait = u64::try_from(at.0.saturating_sub(now.wall.0)).unwrap_or(0);
        let mut at = airside_model::deadline_after(now.run, Duration::from_micros(wait));
        if let Interval::Every(interval) = self.policy.of_resource(resource.check) {
            if wait == 0 && arrival == Arrival::AtStart {
                at += phase::part(interval.min(SPREAD), id.0);
            } else if wait > 0 && facts.failures == 0 {
                at = phase::place(at, interval, id.0).max(now.run);
            }
        }
        self.queue.set(id, at);
    }
}

#[cfg(test)]
mod tests;
