//! The resources to check and when, and the checks under way. No I/O and no clock: the loop passes
//! the time in and runs the checks that come out.

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

use crate::{due_queue::DueQueue, phase};

/// Time over which checks are spread that are overdue when the server starts, unless their interval
/// is shorter.
const SPREAD: Duration = Duration::from_secs(60);

/// The time, by the clock on the wall and by one that never jumps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub(crate) wall: Moment,
    /// Time since the server started.
    pub(crate) run: Duration,
}

/// The reason why a pipeline is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The server starts, and reads all pipelines.
    AtStart,
    /// The pipeline was set or changed.
    Later,
    /// A build or a person wants one of its resources checked.
    Asked,
}

/// A resource with the facts that decide when it is checked.
#[derive(Clone, Debug)]
pub(crate) struct KnownResource<S> {
    pub(crate) resource: Resource,
    pub(crate) facts: CheckFacts,
    pub(crate) spec: S,
}

struct QueueEntry<S> {
    known: KnownResource<S>,
    pipeline_is_paused: bool,
    running: bool,
    /// A check is wanted that begins after the request.
    asked: bool,
}

/// A check that is to begin now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) resource: ResourceId,
    /// A build or a person waits for it: no limit delays it.
    pub(crate) asked: bool,
    /// Number of checks in a row that failed before it.
    pub(crate) failures: u32,
}

/// The resources that are checked, with those that are due and those that are wanted.
pub(crate) struct CheckQueue<S> {
    policy: CheckPolicy,
    entries: HashMap<ResourceId, QueueEntry<S>>,
    pipelines: HashMap<PipelineId, BTreeSet<ResourceId>>,
    due: DueQueue<ResourceId, Duration>,
    asked: Vec<ResourceId>,
}

impl<S> CheckQueue<S> {
    pub(crate) fn new(policy: CheckPolicy) -> Self {
        Self {
            policy,
            entries: HashMap::new(),
            pipelines: HashMap::new(),
            due: DueQueue::new(),
            asked: Vec::new(),
        }
    }

    /// Replaces the resources of a pipeline.
    pub(crate) fn set_pipeline(
        &mut self,
        pipeline: PipelineId,
        is_paused: bool,
        resources: Vec<KnownResource<S>>,
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
                QueueEntry {
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

    /// Returns true if a check of one of the pipeline's resources is under way or wanted.
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

    /// Removes all pipelines but these.
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

    /// Requests a check that begins from now on. Returns false if the resource is not known.
    pub(crate) fn request(&mut self, resource: ResourceId) -> bool {
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

    /// Returns the next check to begin now; from here on it is under way. With `only_asked` the
    /// periodic ones stay due.
    pub(crate) fn start(&mut self, now: Now, only_asked: bool) -> Option<Start> {
        loop {
            let resource = match self.asked.pop() {
                Some(resource) => resource,
                None if only_asked => return None,
                None => self.due.pop(now.run)?,
            };
            let Some(entry) = self.entries.get_mut(&resource) else {
                continue;
            };
            if entry.running {
                continue;
            }
            entry.running = true;
            self.due.remove(resource);
            return Some(Start {
                resource,
                asked: std::mem::take(&mut entry.asked),
                failures: entry.known.facts.failures,
            });
        }
    }

    /// Returns when to look again if nothing happens until then.
    pub(crate) fn next(&mut self) -> Option<Duration> {
        if self.asked.is_empty() {
            self.due.next()
        } else {
            Some(Duration::ZERO)
        }
    }

    /// Notes the end of a check, with the facts from now on. Without facts the check is tried again
    /// as if it had not run.
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

    /// Changes the facts of a resource that a build checked, or whose pin changed.
    pub(crate) fn learn(
        &mut self,
        resource: ResourceId,
        change: impl FnOnce(&mut KnownResource<S>),
        now: Now,
    ) {
        if let Some(entry) = self.entries.get_mut(&resource) {
            change(&mut entry.known);
            self.place(resource, Arrival::Later, now);
        }
    }

    fn forget(&mut self, resource: ResourceId) {
        self.entries.remove(&resource);
        self.due.remove(resource);
    }

    /// Puts a resource where it belongs in the queue.
    fn place(&mut self, id: ResourceId, arrival: Arrival, now: Now) {
        let Some(entry) = self.entries.get(&id).filter(|entry| !entry.running) else {
            return;
        };
        let KnownResource {
            resource, facts, ..
        } = &entry.known;
        let paused = entry.pipeline_is_paused;
        let Due::At(at, _) = due(resource, *facts, &self.policy, paused, now.wall) else {
            self.due.remove(id);
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
        self.due.set(id, at);
    }
}

#[cfg(test)]
mod tests;
