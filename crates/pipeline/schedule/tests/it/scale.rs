//! Sizes: what a pass costs, and that it does not grow with the past.
//!
//! The past is a [`Grid`], which makes each row up when it is asked for: a million versions cost
//! nothing here, and every row that a view takes is counted. Times are printed by `cargo test
//! --release -p airside-schedule --test it -- --ignored --nocapture scale`.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use airside_model::{BuildId, JobId, ResourceId, ResourceVersionId, Version};
use airside_schedule::graph::{Input, InputVersions, Job, SerialGroup};
use airside_schedule::history::{VersionState, WalkSubject};
use airside_schedule::pass::{Action, Group, JobState, Pauses, pass};
use airside_schedule::{
    BuildKey, Carried, Learnt, Names, Order, Question, Resolution, Resolver, StoreAnswer, Used,
    View,
};

use crate::world::AskedQuestions;

/// Every job had a build with each version of all its resources, up to `builds`.
struct Grid {
    resources: i64,
    versions: i64,
    builds: i64,
}

impl Grid {
    fn resource(&self, job: JobId, input: i64) -> ResourceId {
        ResourceId((job.0 * 7 + input) % self.resources)
    }

    fn carried(&self, job: JobId, number: i64) -> Vec<Carried> {
        let carried = (0..5).map(|input| version(self.resource(job, input), number));
        Carried::of_build(&carried.collect::<Vec<_>>(), &[])
    }

    fn has(&self, job: JobId, carrying: WalkSubject) -> bool {
        let (WalkSubject::Resource(resource) | WalkSubject::Version(Carried { resource, .. })) =
            carrying;
        (0..5).any(|input| self.resource(job, input) == resource)
    }

    fn build(&self, job: JobId, number: i64) -> (BuildKey, Vec<Carried>) {
        (key(job, number), self.carried(job, number))
    }

    /// The numbers of builds or versions from one on, as a walk goes.
    fn down(from: i64, most: i64, page: usize) -> impl Iterator<Item = i64> {
        (1..=from.min(most)).rev().take(page)
    }

    fn answer(&self, question: &Question, page: usize, asked: &mut AskedQuestions) -> StoreAnswer {
        let state = |number: i64| VersionState {
            order: Order(number),
            enabled: number % 100 != 0,
        };
        let row = |resource: ResourceId, number| (version(resource, number).version, state(number));
        asked.questions += 1;
        let answer = match question {
            Question::Version(carried) => {
                StoreAnswer::Version(Some(state(number_of(carried.version))))
            }
            Question::VersionsDown { resource, from } => {
                let numbers = Self::down(from.0, self.versions, page);
                StoreAnswer::Versions(numbers.map(|number| row(*resource, number)).collect())
            }
            Question::VersionsUp { resource, from } => {
                let numbers = (from.0..=self.versions).take(page);
                StoreAnswer::Versions(numbers.map(|number| row(*resource, number)).collect())
            }
            Question::Containing { resource, pin } => {
                let number = pin.0["ref"].parse().unwrap();
                StoreAnswer::Pinned(Some(version(*resource, number).version))
            }
            Question::Used { carried, .. } => {
                StoreAnswer::Used(number_of(carried.version) <= self.builds)
            }
            Question::LastUse { job, .. } => StoreAnswer::LastUse(Some(Used {
                order: Order(self.builds),
                pipes: vec![(before(*job), key(before(*job), self.builds))],
            })),
            Question::BuildsDown {
                job,
                carrying,
                from,
            } => {
                let last = (from.original.0 - job.0).div_euclid(10_000);
                let last = last - i64::from(last <= self.builds && key(*job, last) > *from);
                let numbers = match carrying {
                    WalkSubject::Version(carried) => {
                        let number = number_of(carried.version);
                        (number..=number.min(last).min(self.builds)).rev()
                    }
                    WalkSubject::Resource(_) => (1..=last.min(self.builds)).rev(),
                };
                let numbers = numbers.filter(|_| self.has(*job, *carrying));
                let builds = numbers.take(page).map(|number| self.build(*job, number));
                StoreAnswer::Builds(builds.collect())
            }
            Question::BuildsUp {
                job,
                carrying,
                from,
            } => {
                let first = (from.original.0 / 10_000).max(1);
                let numbers = (first..=self.builds).filter(|_| self.has(*job, *carrying));
                let builds = numbers.map(|number| self.build(*job, number));
                let builds = builds.filter(|(key, _)| *key >= *from).take(page);
                StoreAnswer::Builds(builds.collect())
            }
        };
        asked.rows += match &answer {
            StoreAnswer::Versions(rows) => rows.len(),
            StoreAnswer::Builds(rows) => rows.len(),
            _ => 1,
        };
        answer
    }

    fn resolve(&self, view: &mut View, job: &Job, asked: &mut AskedQuestions) -> Resolution {
        let mut resolver = Resolver::new(job);
        loop {
            match resolver.resume(view) {
                Ok(resolution) => return resolution,
                Err(question) => {
                    let answer = self.answer(&question, view.page(), asked);
                    let learnt = view.learn(view.ticket(), &question, answer);
                    assert_eq!(learnt, Ok(Learnt::Yes));
                }
            }
        }
    }
}

fn version(resource: ResourceId, number: i64) -> Carried {
    let version = ResourceVersionId(resource.0 * 10_000_000 + number);
    Carried { resource, version }
}

fn number_of(version: ResourceVersionId) -> i64 {
    version.0 % 10_000_000
}

fn key(job: JobId, number: i64) -> BuildKey {
    BuildKey::first_run(BuildId(number * 10_000 + job.0))
}

/// The job that this one takes over from: it has the same resources.
fn before(job: JobId) -> JobId {
    JobId(job.0 - 200)
}

/// Five layers of 200 jobs. From the second on three inputs must have passed the layers before; one
/// has every version, one is a trigger.
fn jobs(grid: &Grid, count: i64) -> Vec<Job> {
    let mut names = Names::default();
    let jobs = (1..=count).map(JobId).map(|id| {
        let mut input = |at: i64, want: InputVersions, passed: Vec<JobId>, trigger: bool| Input {
            name: names.intern(&format!("input-{at}")),
            resource: grid.resource(id, at),
            want,
            resource_is_pinned: false,
            passed: passed.into_iter().filter(|job| job.0 > 0).collect(),
            trigger,
        };
        let up = before(id);
        Job {
            id,
            inputs: vec![
                input(0, InputVersions::Latest, vec![up], true),
                input(1, InputVersions::Latest, vec![up], false),
                input(2, InputVersions::Latest, vec![before(up), up], false),
                input(3, InputVersions::Every, vec![], false),
                input(4, InputVersions::Latest, vec![], true),
            ],
            serial_groups: vec![SerialGroup(format!("group-{}", id.0 % 50))],
            max_in_flight: Some(1),
        }
    });
    jobs.collect()
}

fn judge(job: &Job, inputs: &Resolution) -> usize {
    let created = pass(&JobState {
        job,
        pauses: Pauses::default(),
        pending: &[],
        group: Group::default(),
        spacing: airside_schedule::pass::JobSpacing::Free,
        checked: &HashMap::new(),
        inputs,
    });
    let creates = |action: &&Action| matches!(action, Action::Create { .. });
    created.actions.iter().filter(creates).count()
}

/// Resolves one job over pasts of different lengths, and gives what it asked for.
fn cost(want: InputVersions, passed: Vec<JobId>, versions: i64, builds: i64) -> AskedQuestions {
    let grid = Grid {
        resources: 200,
        versions,
        builds,
    };
    let mut job = jobs(&grid, 900).pop().unwrap();
    job.inputs.truncate(1);
    job.inputs[0].want = want;
    job.inputs[0].passed = passed;
    let mut asked = AskedQuestions::default();
    let resolution = grid.resolve(&mut View::default(), &job, &mut asked);
    assert!(resolution.is_determined(), "{resolution:?}");
    asked
}

#[test]
fn a_million_versions_cost_what_a_thousand_do() {
    let pin = InputVersions::Pinned(Version::from([("ref", "77")]));
    let both = vec![JobId(500), JobId(700)];
    for (want, passed) in [
        (InputVersions::Latest, vec![]),
        (InputVersions::Every, vec![]),
        (pin.clone(), vec![]),
        (InputVersions::Latest, both.clone()),
        (InputVersions::Every, both.clone()),
        (pin, both),
    ] {
        let few = cost(want.clone(), passed.clone(), 1_000, 500);
        let many = cost(want.clone(), passed.clone(), 1_000_000, 500_000);
        assert_eq!(few, many, "{want:?} {passed:?}");
        assert!(many.rows <= 100, "{want:?} {passed:?} took {many:?}");
        assert!(many.questions <= 8, "{want:?} {passed:?} took {many:?}");
    }
}

/// The last job with one input that must have passed others.
fn downstream(grid: &Grid, passed: Vec<JobId>) -> Job {
    let mut job = jobs(grid, 900).pop().unwrap();
    job.inputs.truncate(1);
    job.inputs[0].passed = passed;
    job
}

#[test]
fn an_upstream_job_without_the_resource_ends_the_search_at_once() {
    let grid = Grid {
        resources: 200,
        versions: 1_000_000,
        builds: 500_000,
    };
    let mut asked = AskedQuestions::default();
    let job = downstream(&grid, vec![JobId(700), JobId(710)]);
    let resolution = grid.resolve(&mut View::default(), &job, &mut asked);
    assert!(!resolution.is_determined() && !resolution.gave_up);
    assert!(asked.rows <= 40, "{asked:?}");
}

#[test]
fn a_thousand_upstream_jobs_need_no_deep_stack() {
    let grid = Grid {
        resources: 1,
        versions: 10,
        builds: 9,
    };
    let mut job = jobs(&grid, 2_000).pop().unwrap();
    job.inputs.truncate(1);
    job.inputs[0].passed = (1..=1_000).map(JobId).collect();
    let resolution = grid.resolve(&mut View::default(), &job, &mut AskedQuestions::default());
    let chosen = resolution.chosen(job.inputs[0].name).unwrap();
    assert_eq!(number_of(chosen.carried.version), 9);
    assert_eq!(chosen.passed.len(), 1_000);
}

#[test]
fn scale_of_a_pipeline_with_a_thousand_jobs() {
    let grid = Grid {
        resources: 200,
        versions: 1_000_001,
        builds: 1_000_000,
    };
    let jobs = jobs(&grid, 1_000);
    let mut view = View::default();
    let mut asked = AskedQuestions::default();
    let started = Instant::now();
    for job in &jobs {
        grid.resolve(&mut view, job, &mut asked);
    }
    let cold = started.elapsed();
    let size = view.size();
    let mut best = Duration::MAX;
    let mut created = 0;
    let before = asked;
    for _ in 0..20 {
        let started = Instant::now();
        created = 0;
        for job in &jobs {
            let inputs = grid.resolve(&mut view, job, &mut asked);
            created += judge(job, &inputs);
        }
        best = best.min(started.elapsed());
    }
    assert_eq!(asked, before, "a filled view asks nothing");
    assert_eq!(created, 1_000);
    eprintln!("1,000 jobs, 200 resources, 1,000,000 versions of each");
    eprintln!("filling the view: {cold:?}, {asked:?}, {size} versions and builds held");
    eprintln!("one pass of every job: {best:?}");
    // A debug build says nothing about speed.
    assert!(
        cfg!(debug_assertions) || best < Duration::from_millis(50),
        "{best:?}"
    );
}
