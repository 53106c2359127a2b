//! The jobs of a run and their order: a job starts after those that its inputs must have passed.
//!
//! Pure: the caller runs the jobs and reports their ends.

use std::collections::{BTreeSet, HashMap, HashSet};

use airside_config::{Config, Job, inputs, nearest};
use airside_model::BuildStatus;

/// The jobs that the user chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice<'a> {
    All,
    /// These jobs, and all that must come before them.
    WithUpstream(&'a [String]),
    /// These jobs alone.
    Only(&'a [String]),
}

/// The jobs of a run, by their place in the pipeline.
#[derive(Debug)]
pub(crate) struct Order {
    jobs: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    name: String,
    upstream: Vec<String>,
    serial_groups: BTreeSet<String>,
    state: State,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Running,
    /// The job is over.
    Ended {
        passed: bool,
    },
}

/// A job that cannot run any more, and why.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Skipped {
    pub(crate) job: String,
    pub(crate) reason: String,
}

impl Order {
    /// The jobs that were asked for, or the words about one that there is not.
    pub(crate) fn new(config: &Config, choice: Choice<'_>) -> Result<Self, String> {
        let chosen = chosen(config, choice)?;
        let jobs = config.jobs.iter().filter(|job| chosen.contains(&*job.name));
        let jobs = jobs.map(|job| Node {
            name: job.name.clone(),
            upstream: upstream(config, job)
                .filter(|name| chosen.contains(name))
                .map(str::to_owned)
                .collect(),
            serial_groups: job.serial_groups.iter().cloned().collect(),
            state: State::Waiting,
        });
        Ok(Self {
            jobs: jobs.collect(),
        })
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.jobs.iter().map(|job| job.name.as_str())
    }

    /// Returns true if the job is part of the run.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// Jobs that may start now, with no more than `most` under way; from now on they count as
    /// running.
    pub(crate) fn start(&mut self, most: usize) -> Vec<String> {
        let mut started = Vec::new();
        for index in 0..self.jobs.len() {
            let running = self.running().count();
            if running < most && self.may_start(&self.jobs[index]) {
                self.jobs[index].state = State::Running;
                started.push(self.jobs[index].name.clone());
            }
        }
        started
    }

    /// Takes in how a job ended; gives those that can never run now.
    pub(crate) fn ended(&mut self, name: &str, status: BuildStatus) -> Vec<Skipped> {
        self.end(name, status == BuildStatus::Succeeded);
        let mut skipped = Vec::new();
        while let Some(next) = self.next_hopeless() {
            self.end(&next.job, false);
            skipped.push(next);
        }
        skipped
    }

    /// Gives up all that has not begun.
    pub(crate) fn give_up(&mut self) -> Vec<String> {
        let waiting = self.jobs.iter_mut();
        waiting
            .filter(|job| job.state == State::Waiting)
            .map(|job| {
                job.state = State::Ended { passed: false };
                job.name.clone()
            })
            .collect()
    }

    fn running(&self) -> impl Iterator<Item = &Node> {
        let jobs = self.jobs.iter();
        jobs.filter(|job| job.state == State::Running)
    }

    fn may_start(&self, job: &Node) -> bool {
        let passed = |name: &String| self.state(name) == Some(&State::Ended { passed: true });
        job.state == State::Waiting
            && job.upstream.iter().all(passed)
            && self
                .running()
                .all(|other| other.serial_groups.is_disjoint(&job.serial_groups))
    }

    fn next_hopeless(&self) -> Option<Skipped> {
        let lost = |name: &&String| self.state(name) == Some(&State::Ended { passed: false });
        let waiting = self.jobs.iter().filter(|job| job.state == State::Waiting);
        waiting.into_iter().find_map(|job| {
            let culprit = job.upstream.iter().find(lost)?;
            Some(Skipped {
                job: job.name.clone(),
                reason: format!("job {culprit} did not succeed"),
            })
        })
    }

    fn end(&mut self, name: &str, passed: bool) {
        if let Some(job) = self.jobs.iter_mut().find(|job| job.name == name) {
            job.state = State::Ended { passed };
        }
    }

    fn state(&self, name: &str) -> Option<&State> {
        let job = self.jobs.iter().find(|job| job.name == name)?;
        Some(&job.state)
    }
}

fn chosen<'a>(config: &'a Config, choice: Choice<'a>) -> Result<HashSet<&'a str>, String> {
    let names: HashMap<&str, &Job> = config.jobs.iter().map(|job| (&*job.name, job)).collect();
    let (asked, widen) = match choice {
        Choice::All => return Ok(names.into_keys().collect()),
        Choice::WithUpstream(asked) => (asked, true),
        Choice::Only(asked) => (asked, false),
    };
    let mut chosen = HashSet::new();
    let mut open = Vec::new();
    for name in asked {
        match names.get(name.as_str()) {
            Some(job) => open.push(*job),
            None => return Err(unknown(config, name)),
        }
    }
    while let Some(job) = open.pop() {
        if chosen.insert(job.name.as_str()) && widen {
            open.extend(upstream(config, job).map(|name| names[name]));
        }
    }
    Ok(chosen)
}

fn unknown(config: &Config, name: &str) -> String {
    let known: Vec<&str> = config.jobs.iter().map(|job| job.name.as_str()).collect();
    match nearest(name, known.iter().copied()) {
        Some(meant) => format!("there is no job `{name}`; did you mean `{meant}`?"),
        None => format!("there is no job `{name}`; there are: {}", known.join(", ")),
    }
}

/// The jobs that must have succeeded before this one.
fn upstream<'a>(config: &'a Config, job: &Job) -> impl Iterator<Item = &'a str> {
    let inputs = inputs(job).into_iter();
    let names: BTreeSet<&str> = inputs
        .flat_map(|input| config.passed_jobs(&input.passed))
        .map(|job| job.name.as_str())
        .collect();
    names.into_iter()
}

#[cfg(test)]
mod tests;
