//! Resources have names and types, and something uses them.

use std::collections::HashMap;

use super::{Checker, path_of, renames};

pub(super) fn check(checker: &mut Checker<'_>) {
    let resources = &checker.config.resources;
    let names = resources.iter().map(|resource| resource.name.as_str());
    checker.names("resources", names, &mut HashMap::new());
    let renamed = resources
        .iter()
        .map(|resource| (resource.name.as_str(), resource.old_name.as_str()));
    renames::check(checker, "resources", "resource", renamed);
    for (index, resource) in resources.iter().enumerate() {
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
    let used = checker.index.used();
    for resource in resources {
        if !resource.name.is_empty() && !used.contains(resource.name.as_str()) {
            let message = format!("resource '{}' is not used", resource.name);
            checker.plain_problem(&format!("resources.{}", resource.name), message);
        }
    }
}
