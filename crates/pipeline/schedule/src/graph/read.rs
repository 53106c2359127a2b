//! Reads a validated configuration as a graph.

use std::collections::HashMap;

use airside_config::{CheckEvery, Config, Glob, JobInput, VersionSpec, inputs};
use airside_model::{JobId, ResourceId, Version};

use super::{Graph, Input, InputVersions, Job, Part, Resource, SerialGroup};
use crate::Names;
use crate::checks::CheckRule;

/// The ids that the store gave to a pipeline's jobs and resources, and the pins set through the
/// API.
#[derive(Clone, Debug, Default)]
pub struct Ids {
    pub jobs: HashMap<String, JobId>,
    pub resources: HashMap<String, ResourceId>,
    /// A pin in the configuration is not among them, and wins.
    pub pins: HashMap<ResourceId, Version>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{kind} '{name}' is in the pipeline's configuration but has no id; save the configuration first"
)]
pub struct UnknownName {
    kind: &'static str,
    name: String,
}

type Pins = HashMap<ResourceId, Version>;

impl Graph {
    pub fn read(config: &Config, ids: &Ids, names: &mut Names) -> Result<Self, UnknownName> {
        let pins = pins(config, ids)?;
        let mut parts: HashMap<ResourceId, Part> = HashMap::new();
        let mut jobs = Vec::with_capacity(config.jobs.len());
        for job in &config.jobs {
            let job = read_job(config, job, ids, &pins, names)?;
            for input in job.inputs.iter().filter(|input| input.passed.is_empty()) {
                let part = if input.trigger {
                    Part::Trigger
                } else {
                    Part::Input
                };
                let known = parts.entry(input.resource).or_insert(part);
                *known = part.max(*known);
            }
            jobs.push(job);
        }
        let mut resources = Vec::with_capacity(config.resources.len());
        for resource in &config.resources {
            let id = ids.resource(&resource.name)?;
            resources.push(Resource {
                id,
                check: CheckRule {
                    every: resource.check_interval().map(|every| match every {
                        CheckEvery::Never => crate::checks::Interval::Never,
                        CheckEvery::Interval(wait) => crate::checks::Interval::Every(wait),
                    }),
                    has_webhook: !resource.webhook_token.is_empty(),
                },
                pin: pins.get(&id).cloned(),
                part: parts.get(&id).copied().unwrap_or(Part::NoInput),
            });
        }
        Ok(Self::new(jobs, resources))
    }
}

impl Ids {
    fn job(&self, name: &str) -> Result<JobId, UnknownName> {
        self.jobs.get(name).copied().ok_or_else(|| UnknownName {
            kind: "job",
            name: name.to_owned(),
        })
    }

    fn resource(&self, name: &str) -> Result<ResourceId, UnknownName> {
        let id = self.resources.get(name).copied();
        id.ok_or_else(|| UnknownName {
            kind: "resource",
            name: name.to_owned(),
        })
    }
}

fn read_job(
    config: &Config,
    job: &airside_config::Job,
    ids: &Ids,
    pins: &Pins,
    names: &mut Names,
) -> Result<Job, UnknownName> {
    let read: Result<Vec<Input>, UnknownName> = inputs(job)
        .into_iter()
        .map(|input| read_input(config, input, ids, pins, names))
        .collect();
    let max_in_flight = job.max_in_flight();
    let serial_groups = match max_in_flight {
        Some(_) if job.serial_groups.is_empty() => vec![SerialGroup(job.name.clone())],
        _ => job.serial_groups.iter().cloned().map(SerialGroup).collect(),
    };
    Ok(Job {
        id: ids.job(&job.name)?,
        inputs: read?,
        serial_groups,
        max_in_flight,
    })
}

fn read_input(
    config: &Config,
    input: JobInput,
    ids: &Ids,
    pins: &Pins,
    names: &mut Names,
) -> Result<Input, UnknownName> {
    let resource = ids.resource(&input.resource)?;
    let resource_pin = pins.get(&resource).cloned();
    let resource_is_pinned = resource_pin.is_some();
    let mut passed = Vec::new();
    for name in &input.passed {
        if Glob::is_pattern(name) {
            for job in config.passed_jobs(std::slice::from_ref(name)) {
                passed.push(ids.job(&job.name)?);
            }
        } else {
            passed.push(ids.job(name)?);
        }
    }
    passed.sort_unstable();
    passed.dedup();
    // A pin of the step is nearer than one of the resource, and either is stronger than latest and
    // every.
    let want = match (input.version, resource_pin) {
        (VersionSpec::Pinned(version), _) | (_, Some(version)) => InputVersions::Pinned(version),
        (VersionSpec::Every, None) => InputVersions::Every,
        (VersionSpec::Latest | VersionSpec::Unclear, None) => InputVersions::Latest,
    };
    Ok(Input {
        name: names.intern(&input.name),
        resource,
        want,
        resource_is_pinned,
        passed,
        trigger: input.trigger,
    })
}

/// Returns the pin of each resource: that of the configuration, or else the one that a person set.
fn pins(config: &Config, ids: &Ids) -> Result<Pins, UnknownName> {
    let mut pins = ids.pins.clone();
    for resource in &config.resources {
        if let Some(version) = &resource.version {
            pins.insert(ids.resource(&resource.name)?, version.clone());
        }
    }
    Ok(pins)
}
