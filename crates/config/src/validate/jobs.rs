//! Jobs have names, sound numbers for how much of their logs to keep, and steps that make sense.

use super::{Checker, path_of};
use crate::{Job, steps};

pub(super) fn check(checker: &mut Checker<'_>) {
    let config = checker.config;
    if config.jobs.is_empty() {
        return checker.plain_problem("jobs", "jobs: pipeline must contain at least one job");
    }
    checker.names("jobs", config.jobs.iter().map(|job| job.name.as_str()));
    for (index, job) in config.jobs.iter().enumerate() {
        let path = path_of("jobs", index, &job.name);
        check_retention(checker, job, &path);
        checker.seen_gets.clear();
        steps::check_list(&job.plan, &format!("{path}.plan.do"), checker);
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
        let message =
            format!("{path}.build_logs_to_retain is deprecated. Use build_log_retention instead.");
        checker.warning("deprecated_field", message);
    }
}
