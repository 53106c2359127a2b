//! A pipeline as the scheduler sees it: jobs, their inputs, and the events that affect them.
//!
//! Made anew whenever the configuration or a pin changes; it holds nothing of the past.

mod read;

use std::collections::{BTreeMap, HashMap};

use airside_model::{JobId, ResourceId, Version};

pub use self::read::{Ids, UnknownName};
use crate::NameId;
use crate::checks::CheckRule;

/// Versions of a resource that an input takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum InputVersions {
    #[default]
    Latest,
    Every,
    /// The version that has all these pairs, which the step or the resource names.
    Pinned(Version),
}

/// One `get` of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    pub name: NameId,
    pub resource: ResourceId,
    pub want: InputVersions,
    /// True if the resource itself is pinned: then no build waits for a check of it.
    pub resource_is_pinned: bool,
    /// Jobs that the version must have passed, patterns resolved; sorted, each once.
    pub passed: Vec<JobId>,
    pub trigger: bool,
}

/// A set of jobs with a limit of builds at once. A job with a limit of its own is a group alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SerialGroup(pub String);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub id: JobId,
    /// Inputs in the order of the plan.
    pub inputs: Vec<Input>,
    pub serial_groups: Vec<SerialGroup>,
    /// `None` means no limit.
    pub max_in_flight: Option<u32>,
}

/// A resource, with what its checks depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    pub id: ResourceId,
    pub check: CheckRule,
    pub pin: Option<Version>,
    pub part: Part,
}

/// The use that jobs make of a resource, without a `passed` in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// No job gets it without `passed`: it is put, or unused.
    NoInput,
    Input,
    Trigger,
}

#[derive(Clone, Debug, Default)]
pub struct Graph {
    jobs: BTreeMap<JobId, Job>,
    resources: BTreeMap<ResourceId, Resource>,
    /// Jobs that get a resource, and those of them that do so without `passed`.
    takers: HashMap<ResourceId, Vec<JobId>>,
    direct_takers: HashMap<ResourceId, Vec<JobId>>,
    downstream: HashMap<JobId, Vec<JobId>>,
    members: HashMap<SerialGroup, Vec<JobId>>,
}

impl Graph {
    pub fn new(jobs: Vec<Job>, resources: Vec<Resource>) -> Self {
        let mut graph = Self {
            resources: resources.into_iter().map(|one| (one.id, one)).collect(),
            ..Self::default()
        };
        for job in jobs {
            graph.index(&job);
            graph.jobs.insert(job.id, job);
        }
        graph
    }

    fn index(&mut self, job: &Job) {
        for input in &job.inputs {
            note(self.takers.entry(input.resource).or_default(), job.id);
            if input.passed.is_empty() {
                let direct = self.direct_takers.entry(input.resource).or_default();
                note(direct, job.id);
            }
            for upstream in &input.passed {
                note(self.downstream.entry(*upstream).or_default(), job.id);
            }
        }
        for group in &job.serial_groups {
            note(self.members.entry(group.clone()).or_default(), job.id);
        }
    }

    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.jobs.values()
    }

    pub fn job(&self, id: JobId) -> Option<&Job> {
        self.jobs.get(&id)
    }

    pub fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.resources.values()
    }

    pub fn resource(&self, id: ResourceId) -> Option<&Resource> {
        self.resources.get(&id)
    }

    pub(crate) fn takers(&self, resource: ResourceId) -> &[JobId] {
        self.takers.get(&resource).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn direct_takers(&self, resource: ResourceId) -> &[JobId] {
        self.direct_takers.get(&resource).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn downstream(&self, job: JobId) -> &[JobId] {
        self.downstream.get(&job).map_or(&[], Vec::as_slice)
    }

    /// Returns the jobs that share a serial group with this one, itself included if it is in any.
    pub fn peers(&self, job: JobId) -> Vec<JobId> {
        let groups = self.jobs.get(&job).map(|job| job.serial_groups.as_slice());
        let mut peers: Vec<JobId> = groups
            .unwrap_or_default()
            .iter()
            .filter_map(|group| self.members.get(group))
            .flatten()
            .copied()
            .collect();
        peers.sort_unstable();
        peers.dedup();
        peers
    }
}

/// Jobs come one after the other, so a job that is there already is the last one.
fn note(jobs: &mut Vec<JobId>, job: JobId) {
    if jobs.last() != Some(&job) {
        jobs.push(job);
    }
}
