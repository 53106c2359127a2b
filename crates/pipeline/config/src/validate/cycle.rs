//! No job waits for itself through `passed`.

use super::Checker;
use crate::inputs;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Done,
}

pub(super) fn check(checker: &mut Checker<'_>) {
    let config = checker.config;
    let mut states = vec![State::New; config.jobs.len()];
    for job in 0..config.jobs.len() {
        if let Some(start) = find_cycle(checker, job, &mut states) {
            let name = &config.jobs[start].name;
            let message = format!("pipeline contains a cycle that starts at Job '{name}'");
            checker.plain_problem(&format!("jobs.{name}"), message);
            return;
        }
    }
}

/// Depth first, with a stack of its own: a pipeline may have thousands of jobs in a row.
fn find_cycle(checker: &mut Checker<'_>, job: usize, states: &mut [State]) -> Option<usize> {
    if states[job] != State::New {
        return None;
    }
    states[job] = State::Open;
    let mut stack = vec![(job, upstream(checker, job))];
    while let Some((current, waiting)) = stack.last_mut() {
        let Some(next) = waiting.pop() else {
            states[*current] = State::Done;
            stack.pop();
            continue;
        };
        match states[next] {
            State::Open => return Some(next),
            State::Done => {}
            State::New => {
                states[next] = State::Open;
                stack.push((next, upstream(checker, next)));
            }
        }
    }
    None
}

fn upstream(checker: &mut Checker<'_>, job: usize) -> Vec<usize> {
    let mut upstream: Vec<usize> = inputs(&checker.config.jobs[job])
        .iter()
        .flat_map(|input| &input.passed)
        // A broken pattern has been complained about already.
        .flat_map(|pattern| checker.passed_jobs(pattern).unwrap_or_default())
        .collect();
    upstream.sort_unstable_by(|a, b| b.cmp(a));
    upstream.dedup();
    upstream
}
