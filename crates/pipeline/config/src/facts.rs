//! Facts of a pipeline, for policies: every step as one flat list, however deep it stands.

mod address;

use std::collections::{HashMap, HashSet};

use airside_model::facts::{PipelineFacts, ResourceFacts, StepFacts, StepFactsKind, TypeFacts};
use serde::Serialize;

use self::address::{address_facts, clean_address};
use crate::{Config, Job, Leaf, Resource, ResourceType, TaskStep};

/// Largest size of a pipeline's facts, as JSON. A request to a cluster may have 3 MiB.
pub const MAX_FACTS_BYTES: usize = 1 << 20;

/// The facts of a pipeline do not fit into a request. They are never cut: a step that a policy
/// refuses could stand behind the cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the pipeline is too large to be judged: its steps, resources and types take more than \
     {MAX_FACTS_BYTES} bytes; make several pipelines of it"
)]
pub struct FactsTooLarge;

/// Returns what policies may know of a pipeline. The fields `through` and `by` are left empty.
pub fn facts(config: &Config) -> Result<PipelineFacts, FactsTooLarge> {
    let mut collector = FactsCollector::new(config);
    for job in &config.jobs {
        job.visit_tagged_leaves(&mut |leaf, tags| collector.add_step(job, leaf, tags));
    }
    for resource in &config.resources {
        collector.add_resource(resource);
    }
    for type_ in &config.resource_types {
        collector.add_type(type_, false);
    }
    for prototype in &config.prototypes {
        collector.add_type(prototype, true);
    }
    if collector.is_full {
        return Err(FactsTooLarge);
    }
    Ok(collector.facts)
}

/// Facts as they are gathered. Once they are too large, nothing more is added: the name of a type
/// is repeated by every step, so that facts can be far larger than their pipeline.
struct FactsCollector<'a> {
    resources: HashMap<&'a str, &'a Resource>,
    types: HashMap<&'a str, &'a ResourceType>,
    child_names: HashSet<&'a str>,
    facts: PipelineFacts,
    bytes: usize,
    is_full: bool,
}

impl<'a> FactsCollector<'a> {
    fn new(config: &'a Config) -> Self {
        let (mut resources, mut types) = (HashMap::new(), HashMap::new());
        for resource in &config.resources {
            resources.entry(resource.name.as_str()).or_insert(resource);
        }
        for type_ in &config.resource_types {
            types.entry(type_.name.as_str()).or_insert(type_);
        }
        Self {
            resources,
            types,
            child_names: HashSet::new(),
            facts: PipelineFacts::default(),
            bytes: 0,
            is_full: false,
        }
    }

    /// Returns true if there is room for one more entry.
    fn has_room(&mut self, entry: &impl Serialize) -> bool {
        // An entry that is no JSON counts as too large.
        let bytes = serde_json::to_string(entry).map_or(MAX_FACTS_BYTES, |text| text.len() + 1);
        self.bytes = self.bytes.saturating_add(bytes);
        self.is_full |= self.bytes > MAX_FACTS_BYTES;
        !self.is_full
    }

    /// Adds a step; `tags` are those around it.
    fn add_step(&mut self, job: &Job, leaf: Leaf<'a>, tags: &[String]) {
        if self.is_full {
            return;
        }
        let mut step = step_facts(&job.name, leaf, tags);
        if let Some(resource) = self.resources.get(step.resource.as_str()) {
            step.type_.clone_from(&resource.type_);
        }
        if let Leaf::Task(task) = leaf {
            self.add_image(&mut step, task);
        }
        if let Leaf::SetPipeline(set) = leaf
            && self.child_names.insert(&set.name)
            && self.has_room(&set.name)
        {
            self.facts.pipelines.push(set.name.clone());
        }
        if self.has_room(&step) {
            self.facts.steps.push(step);
        }
    }

    /// Adds what a task's own config says of its image. That of a file is not known yet.
    fn add_image(&self, step: &mut StepFacts, task: &TaskStep) {
        let Some(config) = &task.config else { return };
        step.rootfs_uri = clean_address(&config.rootfs_uri);
        if let Some(image) = &config.image_resource {
            let type_ = self.types.get(image.type_.as_str());
            let defaults = type_.map(|type_| &type_.defaults);
            step.image_type.clone_from(&image.type_);
            step.address = address_facts(image.source.as_ref(), defaults);
        }
    }

    fn add_resource(&mut self, resource: &Resource) {
        let type_ = self.types.get(resource.type_.as_str());
        let defaults = type_.map(|type_| &type_.defaults);
        let entry = ResourceFacts {
            name: resource.name.clone(),
            type_: resource.type_.clone(),
            address: address_facts(resource.source.as_ref(), defaults),
            tags: resource.tags.clone(),
        };
        if self.has_room(&entry) {
            self.facts.resources.push(entry);
        }
    }

    fn add_type(&mut self, type_: &ResourceType, prototype: bool) {
        // A type may be made of another one of the pipeline, never of itself.
        let parent = self.types.get(type_.type_.as_str());
        let parent = parent.filter(|parent| parent.name != type_.name);
        let entry = TypeFacts {
            name: type_.name.clone(),
            type_: type_.type_.clone(),
            address: address_facts(type_.source.as_ref(), parent.map(|parent| &parent.defaults)),
            privileged: type_.privileged,
            prototype,
            tags: type_.tags.clone(),
        };
        if self.has_room(&entry) {
            self.facts.types.push(entry);
        }
    }
}

/// Returns the facts of a step that need no look at other parts of the pipeline. `around` are the
/// tags of a step without tags of its own.
fn step_facts(job: &str, leaf: Leaf<'_>, around: &[String]) -> StepFacts {
    let new = |kind, name: &str| StepFacts::new(job, kind, name);
    let tags = |own: &[String]| if own.is_empty() { around } else { own }.to_vec();
    match leaf {
        Leaf::Get(get) => StepFacts {
            resource: get.resource().to_owned(),
            tags: tags(&get.tags),
            ..new(StepFactsKind::Get, &get.name)
        },
        Leaf::Put(put) => StepFacts {
            resource: put.resource().to_owned(),
            tags: tags(&put.tags),
            ..new(StepFactsKind::Put, &put.name)
        },
        Leaf::Task(task) => StepFacts {
            privileged: Some(task.privileged),
            file: task.file.clone(),
            image: task.image.clone(),
            tags: tags(&task.tags),
            ..new(StepFactsKind::Task, &task.name)
        },
        Leaf::Run(run) => StepFacts {
            type_: run.type_.clone(),
            privileged: Some(run.privileged),
            tags: tags(&run.tags),
            ..new(StepFactsKind::Run, &run.message)
        },
        Leaf::SetPipeline(set) => StepFacts {
            file: set.file.clone(),
            team: set.team.clone(),
            ..new(StepFactsKind::SetPipeline, &set.name)
        },
        Leaf::LoadVar(load) => StepFacts {
            file: load.file.clone(),
            ..new(StepFactsKind::LoadVar, &load.name)
        },
    }
}
