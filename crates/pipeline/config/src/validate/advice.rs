//! Warnings of resource types that are not there, although Concourse's rules let the pipeline be
//! set. Only callers that request advice get them.

use std::collections::HashSet;

use airside_model::task::ImageResource;

use super::{Checker, path_of};
use crate::{Job, Leaf, ResourceType, missing_base_type, registry_type};

/// The images that a task may name without a resource type of that name.
const IMAGES: [&str; 3] = ["host", "oci-layout", "registry-image"];

pub(super) fn check(checker: &mut Checker<'_>, native: &[&str]) {
    let config = checker.config;
    let put: HashSet<&str> = config.jobs.iter().flat_map(puts).collect();
    for (index, resource) in config.resources.iter().enumerate() {
        let path = path_of("resources", index, &resource.name);
        let types: Vec<&ResourceType> = config.resource_types.iter().collect();
        let is_put = put.contains(resource.name.as_str());
        check_type(checker, native, (&path, &resource.type_), &types, is_put);
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
            check_type(checker, native, (&path, &type_.type_), &others, false);
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
        checker.warning("missing_type", &place, message);
    }
}

impl Checker<'_> {
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
