//! Warnings of what will go wrong when a pipeline runs, although Concourse's rules let it be set:
//! types that are not there, sources without what their type needs, files of artifacts that no step
//! makes. Only callers that request advice get them.

use std::collections::HashSet;

use airside_model::task::ImageResource;
use serde_json::{Map, Value};

use super::{Checker, path_of};
use crate::{Job, Leaf, ResourceType, missing_base_type, parse_duration, registry_type};

/// The images that a task may name without a resource type of that name.
const IMAGES: [&str; 3] = ["host", "oci-layout", "registry-image"];

/// The keys of a source without which nothing of a type works.
const NEEDED: &[(&str, &[&str])] = &[
    ("git", &["uri"]),
    ("github-release", &["repository"]),
    ("http", &["url"]),
    ("pool", &["uri", "branch", "pool"]),
    ("registry-image", &["repository"]),
    ("s3", &["bucket"]),
];

/// The drivers of `semver` that are there, and the keys that each needs.
const DRIVERS: &[(&str, &[&str])] = &[
    ("gcs", &["bucket", "key"]),
    ("git", &["uri", "branch", "file"]),
    ("s3", &["bucket", "key"]),
];

pub(super) fn check(checker: &mut Checker<'_>, native: &[&str]) {
    let config = checker.config;
    let put: HashSet<&str> = config.jobs.iter().flat_map(puts).collect();
    for (index, resource) in config.resources.iter().enumerate() {
        let path = path_of("resources", index, &resource.name);
        let types: Vec<&ResourceType> = config.resource_types.iter().collect();
        let is_put = put.contains(resource.name.as_str());
        let source = resource.source.as_ref();
        check_type(
            checker,
            native,
            (&path, &resource.type_),
            source,
            &types,
            is_put,
        );
    }
    for (section, made) in [
        ("resource_types", &config.resource_types),
        ("prototypes", &config.prototypes),
    ] {
        for (index, type_) in made.iter().enumerate() {
            let path = path_of(section, index, &type_.name);
            // A type may have the name of the type it is made from.
            let others = config.resource_types.iter();
            let others: Vec<_> = others.filter(|other| other.name != type_.name).collect();
            let source = type_.source.as_ref();
            check_type(
                checker,
                native,
                (&path, &type_.type_),
                source,
                &others,
                false,
            );
        }
    }
}

fn puts(job: &Job) -> Vec<&str> {
    let mut found = Vec::new();
    job.visit_leaves(&mut |leaf| {
        if let Leaf::Put(step) = leaf {
            found.push(step.resource());
        }
    });
    found
}

fn check_type(
    checker: &mut Checker<'_>,
    native: &[&str],
    (path, type_): (&str, &str),
    source: Option<&Map<String, Value>>,
    types: &[&ResourceType],
    is_put: bool,
) {
    let is_made = types.iter().any(|made| made.name == type_);
    if type_.is_empty() || is_made || type_.contains("((") {
        return;
    }
    let place = format!("{path}.type");
    let has_stand_in = registry_type(type_).is_some() && !is_put;
    if !native.contains(&type_) && !has_stand_in {
        let message = format!("{path}: {}", missing_base_type(type_));
        return checker.warning("missing_type", &place, message);
    }
    let type_ = registry_type(type_).unwrap_or(type_);
    let none = Map::new();
    if let Some(words) = source_complaint(type_, source.unwrap_or(&none)) {
        checker.warning("source", &place, format!("{path}: {words}"));
    }
}

/// Returns the mistake in the source of a native type; variables may be anything.
fn source_complaint(type_: &str, source: &Map<String, Value>) -> Option<String> {
    let text = |key: &str| source.get(key).and_then(Value::as_str);
    let needed = match type_ {
        "semver" => {
            let driver = text("driver").unwrap_or("s3");
            let known = DRIVERS.iter().find(|(name, _)| *name == driver);
            if known.is_none() && !driver.contains("((") {
                return Some(format!(
                    "source.driver is `{driver}`, but `semver` has only the drivers `git`, `s3` and `gcs`"
                ));
            }
            known.map_or(&[][..], |(_, keys)| *keys)
        }
        type_ => {
            let known = NEEDED.iter().find(|(name, _)| *name == type_);
            known.map_or(&[][..], |(_, keys)| *keys)
        }
    };
    let missing = needed.iter().find(|key| !source.contains_key(**key));
    if let Some(key) = missing {
        return Some(format!(
            "source.{key} is missing, which type `{type_}` needs"
        ));
    }
    let interval = text("interval").filter(|_| type_ == "time")?;
    let is_wrong = parse_duration(interval).is_none() && !interval.contains("((");
    is_wrong.then(|| format!("source.interval is `{interval}`, which is no duration such as 30m"))
}

/// The names of the artifacts that steps of a job make; `None` if a task file or prototype may make
/// any.
pub(super) fn artifacts(job: &Job) -> Option<HashSet<String>> {
    let mut made = HashSet::new();
    let mut any = false;
    job.visit_leaves(&mut |leaf| match leaf {
        Leaf::Get(step) => _ = made.insert(step.name.clone()),
        Leaf::Put(step) => _ = made.insert(step.name.clone()),
        Leaf::Task(step) => match &step.config {
            None => any = true,
            Some(config) => made.extend(config.outputs.iter().map(|output| {
                let mapped = step.output_mapping.get(&output.name);
                mapped.unwrap_or(&output.name).clone()
            })),
        },
        Leaf::Run(_) => any = true,
        Leaf::SetPipeline(_) | Leaf::LoadVar(_) => {}
    });
    (!any).then_some(made)
}

impl Checker<'_> {
    /// Warns if a path such as `repo/ci/unit.yml` begins with an artifact that no step of the job
    /// makes.
    pub(crate) fn artifact_is_made(&mut self, file: &str, path: &str, field: &str) {
        let artifact = file.split('/').next().unwrap_or_default();
        let Some(made) = self.artifacts.as_ref().filter(|_| !artifact.is_empty()) else {
            return;
        };
        if made.contains(artifact) || artifact.contains("((") {
            return;
        }
        let message = format!(
            "{path}: no step of this job makes the artifact `{artifact}` that `{field}` is in"
        );
        self.warning("missing_artifact", &format!("{path}.{field}"), message);
    }

    /// Warns about a task's image whose type is neither there nor made by the pipeline.
    pub(crate) fn image_type_is_there(&mut self, image: &ImageResource, path: &str) {
        let type_ = image.type_.as_str();
        let is_there = IMAGES.contains(&type_)
            || registry_type(type_).is_some()
            || self.native.is_none_or(|native| native.contains(&type_))
            || self.config.resource_type(type_).is_some()
            || type_.is_empty()
            || type_.contains("((");
        if !is_there {
            let place = format!("{path}.config.image_resource.type");
            let message = format!("{place}: {}", missing_base_type(type_));
            self.warning("missing_type", &place, message);
        }
    }
}
