//! Jobs have names, sound numbers for how much of their logs to keep, and steps that make sense.

use std::collections::HashMap;

use super::{Checker, path_of, renames};
use crate::plan::{MAX_DEPTH, MAX_NODES};
use crate::steps::across::MAX_NESTING;
use crate::steps::modifiers::check_hooks;
use crate::{Job, Step, steps};

pub(super) fn check(checker: &mut Checker<'_>) {
    let config = checker.config;
    if config.jobs.is_empty() {
        return checker.plain_problem("jobs", "jobs: pipeline must contain at least one job");
    }
    let names = config.jobs.iter().map(|job| job.name.as_str());
    checker.names("jobs", names, &mut HashMap::new());
    let renamed = config
        .jobs
        .iter()
        .map(|job| (job.name.as_str(), job.old_name.as_str()));
    renames::check(checker, "jobs", "job", renamed);
    for (index, job) in config.jobs.iter().enumerate() {
        let path = path_of("jobs", index, &job.name);
        check_retention(checker, job, &path);
        check_size(checker, job, &path);
        checker.begin_job(job);
        let path = format!("{path}.plan");
        steps::check_list(&job.plan, &format!("{path}.do"), checker);
        check_hooks(job.hooks(), &path, checker);
    }
}

/// Refuses a plan that is too large to run.
fn check_size(checker: &mut Checker<'_>, job: &Job, path: &str) {
    let all = || job.plan.iter().chain(job.hooks().map(|(_, hook)| hook));
    let size = all().map(Step::size).fold(0, u64::saturating_add);
    if size > MAX_NODES {
        let message = format!(
            "a build would have more than {MAX_NODES} steps; look for large `attempts` in one another"
        );
        checker.problem(path, message);
    }
    let depth = all().map(Step::depth).max().unwrap_or(0);
    if depth + 2 * job.hooks().count() > MAX_DEPTH {
        checker.problem(path, "its steps are nested too deep");
    }
    if all().any(|step| step.across_depth() > MAX_NESTING) {
        let message = format!("`across` is nested more than {MAX_NESTING} levels deep");
        checker.problem(path, message);
    }
}

fn check_retention(checker: &mut Checker<'_>, job: &Job, path: &str) {
    let mut complain = |place: &str, message: String| {
        checker.plain_problem(&format!("{path}.{place}"), format!("{path} {message}"));
    };
    let old = job.build_logs_to_retain;
    if old != 0 && job.build_log_retention.is_some() {
        let message = "can't use both build_log_retention and build_logs_to_retain";
        complain("build_logs_to_retain", message.into());
    } else if old < 0 {
        complain(
            "build_logs_to_retain",
            format!("has negative build_logs_to_retain: {old}"),
        );
    }
    if let Some(retention) = &job.build_log_retention {
        for (name, value) in [
            ("builds", retention.builds),
            ("days", retention.days),
            (
                "minimum_succeeded_builds",
                retention.minimum_succeeded_builds,
            ),
        ] {
            if value < 0 {
                let name = format!("build_log_retention.{name}");
                complain(&name, format!("has negative {name}: {value}"));
            }
        }
        if retention.builds > 0 && retention.minimum_succeeded_builds > retention.builds {
            let message = format!(
                "has build_log_retention.minimum_succeeded_builds: {} greater than build_log_retention.builds: {}",
                retention.minimum_succeeded_builds, retention.builds
            );
            complain("build_log_retention.minimum_succeeded_builds", message);
        }
    }
    if old != 0 {
        let place = format!("{path}.build_logs_to_retain");
        let message = format!("{place} is deprecated. Use build_log_retention instead.");
        checker.warning("deprecated_field", &place, message);
    }
}
