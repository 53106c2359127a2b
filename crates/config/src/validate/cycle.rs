//! No job waits for itself through `passed`.

use std::collections::HashMap;

use super::Checker;
use crate::{Config, Job, inputs};

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Done,
}

pub(super) fn check(checker: &mut Checker<'_>) {
    let config = checker.config;
    let mut states = HashMap::new();
    for job in &config.jobs {
        if let Some(start) = find_cycle(config, job, &mut states) {
            let message = format!("pipeline contains a cycle that starts at Job '{start}'");
            checker.plain_problem(&format!("jobs.{start}"), message);
            return;
        }
    }
}

/// Depth first, with a stack of its own: a pipeline may have thousands of jobs in a row.
fn find_cycle<'a>(
    config: &'a Config,
    job: &'a Job,
    states: &mut HashMap<&'a str, State>,
) -> Option<&'a str> {
    if states.contains_key(job.name.as_str()) {
        return None;
    }
    states.insert(&job.name, State::Open);
    let mut stack = vec![(job, upstream(config, job))];
    while let Some((current, waiting)) = stack.last_mut() {
        let Some(next) = waiting.pop() else {
            states.insert(&current.name, State::Done);
            stack.pop();
            continue;
        };
        match states.get(next.name.as_str()) {
            Some(State::Open) => return Some(&next.name),
            Some(State::Done) => {}
            None => {
                states.insert(&next.name, State::Open);
                stack.push((next, upstream(config, next)));
            }
        }
    }
    None
}

fn upstream<'a>(config: &'a Config, job: &Job) -> Vec<&'a Job> {
    let passed: Vec<String> = inputs(job)
        .into_iter()
        .flat_map(|input| input.passed)
        .collect();
    config.passed_jobs(&passed)
}
