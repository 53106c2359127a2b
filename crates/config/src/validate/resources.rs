//! Resources have names and types, and something uses them.

use std::collections::HashSet;

use super::{Checker, path_of};
use crate::Leaf;

pub(super) fn check(checker: &mut Checker<'_>) {
    let config = checker.config;
    checker.names(
        "resources",
        config
            .resources
            .iter()
            .map(|resource| resource.name.as_str()),
    );
    for (index, resource) in config.resources.iter().enumerate() {
        if resource.type_.is_empty() {
            let path = path_of("resources", index, &resource.name);
            checker.plain_problem(
                &format!("resources[{index}]"),
                format!("{path} has no type"),
            );
        }
    }
    if checker.steps_missing {
        return;
    }
    let mut used = HashSet::new();
    for job in &config.jobs {
        job.visit_leaves(&mut |leaf| match leaf {
            Leaf::Get(step) => _ = used.insert(step.resource()),
            Leaf::Put(step) => _ = used.insert(step.resource()),
            Leaf::Task(_) => {}
        });
    }
    for resource in &config.resources {
        if !resource.name.is_empty() && !used.contains(resource.name.as_str()) {
            let message = format!("resource '{}' is not used", resource.name);
            checker.plain_problem(&format!("resources.{}", resource.name), message);
        }
    }
}
