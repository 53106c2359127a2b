//! Groups name jobs and resources that exist, and if there are groups every job is in one.

use std::collections::{BTreeMap, HashSet};

use super::{Checker, path_of};
use crate::Group;

pub(super) fn check(checker: &mut Checker<'_>) {
    let config = checker.config;
    let mut grouped = HashSet::new();
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (index, group) in config.groups.iter().enumerate() {
        let path = path_of("groups", index, &group.name);
        checker.identifier_at(&group.name, &path, |_| format!("groups[{index}].name"));
        let count = counts.entry(&group.name).or_insert((0, index));
        *count = (count.0 + 1, index);
        check_jobs(checker, group, index, &mut grouped);
        for (number, resource) in group.resources.iter().enumerate() {
            if !checker.index.has_resource(resource) {
                let message = format!("group '{}' has unknown resource '{resource}'", group.name);
                checker.plain_problem(&format!("groups[{index}].resources[{number}]"), message);
            }
        }
    }
    for (name, (count, last)) in counts {
        if count > 1 {
            let message =
                format!("group '{name}' appears {count} times. Duplicate names are not allowed.");
            checker.plain_problem(&format!("groups[{last}]"), message);
        }
    }
    if config.groups.is_empty() {
        return;
    }
    for job in &config.jobs {
        // Reported once for each name.
        if !grouped.insert(job.name.as_str()) {
            continue;
        }
        let message = format!("job '{}' belongs to no group", job.name);
        checker.plain_problem(&format!("jobs.{}", job.name), message);
    }
}

fn check_jobs<'a>(
    checker: &mut Checker<'a>,
    group: &Group,
    index: usize,
    grouped: &mut HashSet<&'a str>,
) {
    for (number, pattern) in group.jobs.iter().enumerate() {
        let place = format!("groups[{index}].jobs[{number}]");
        let matching = match checker.group_jobs(pattern) {
            Ok(matching) => matching,
            Err(words) => {
                let message = format!("{words} for group '{}'", group.name);
                checker.plain_problem(&place, message);
                continue;
            }
        };
        if matching.is_empty() {
            let message = format!("no jobs match '{pattern}' for group '{}'", group.name);
            checker.plain_problem(&place, message);
        }
        let jobs = &checker.config.jobs;
        grouped.extend(matching.into_iter().map(|index| jobs[index].name.as_str()));
    }
}
