//! The parts together, in the way a server drives them: an event, the jobs it concerns, a pass for
//! each, its actions carried out, and the view told. No job gets a pass that no event gave it.

use std::collections::{BTreeMap, HashMap, VecDeque};

use airside_config::load;
use airside_model::{BuildId, JobId, ResourceId};
use airside_schedule::graph::{Ids, Job};
use airside_schedule::history::VersionState;
use airside_schedule::pass::{
    Action, BuildOrigin, Checked, Group, InputsFrom, JobState, Next, Original, Pauses, Pending,
    pass,
};
use airside_schedule::{
    BuildKey, Carried, Change, Event, Graph, History, Moment, Names, Order, Resolution, View,
};

use crate::world::{BuildRow, VersionRow, World, content, version_id};

struct House {
    graph: Graph,
    world: World,
    view: View,
    pending: BTreeMap<JobId, Vec<Pending>>,
    running: Vec<BuildRow>,
    determined: HashMap<JobId, bool>,
    checked: HashMap<ResourceId, Checked>,
    builds: i64,
    /// Builds that finished, as `job version version`.
    done: Vec<String>,
}

const X: ResourceId = ResourceId(1);

impl House {
    fn new(pipeline: &str) -> Self {
        let config = load(pipeline).unwrap().config;
        let mut ids = Ids::default();
        for (at, job) in config.jobs.iter().enumerate() {
            ids.jobs.insert(job.name.clone(), JobId(at as i64 + 1));
        }
        for (at, resource) in config.resources.iter().enumerate() {
            let id = ResourceId(at as i64 + 1);
            ids.resources.insert(resource.name.clone(), id);
        }
        let mut names = Names::default();
        let graph = Graph::read(&config, &ids, &mut names).unwrap();
        let world = World {
            names,
            jobs: config.jobs.iter().map(|job| job.name.clone()).collect(),
            resources: config
                .resources
                .iter()
                .map(|one| one.name.clone())
                .collect(),
            ..World::default()
        };
        Self {
            graph,
            world,
            view: View::with_pages_of(2),
            pending: BTreeMap::new(),
            running: Vec::new(),
            determined: HashMap::new(),
            checked: HashMap::new(),
            builds: 0,
            done: Vec::new(),
        }
    }

    fn find(&mut self, resource: ResourceId, number: i64) {
        let version = version_id(resource, number);
        let state = VersionState {
            order: Order(number),
            enabled: true,
        };
        let rows = self.world.versions.entry(resource).or_default();
        rows.push(VersionRow {
            id: version,
            state,
            content: content(number),
        });
        self.view.apply(Change::VersionSaved {
            resource,
            version,
            state,
        });
        self.tell(Event::VersionsFound(resource));
    }

    fn add(&mut self, job: JobId, origin: BuildOrigin, original: Option<BuildKey>) -> BuildKey {
        self.builds += 1;
        let id = BuildId(self.builds);
        let key = match original {
            Some(original) => BuildKey::rerun(original.original, id),
            None => BuildKey::first_run(id),
        };
        self.pending.entry(job).or_default().push(Pending {
            key,
            origin,
            created: Moment(1),
            aborted: false,
        });
        key
    }

    fn tell(&mut self, event: Event) {
        let mut todo: VecDeque<JobId> = self.graph.affected_jobs(event).into();
        let mut passes = 0;
        while let Some(job) = todo.pop_front() {
            passes += 1;
            assert!(passes < 1_000, "passes without end after {event:?}");
            let (next, changed) = self.pass(job);
            if next == Next::Again {
                todo.push_front(job);
            }
            if changed {
                todo.extend(self.graph.affected_jobs(Event::InputsDetermined(job)));
            }
        }
    }

    fn group(&self, job: &Job) -> Group {
        let peers = self.graph.peers(job.id);
        let running = self
            .running
            .iter()
            .filter(|build| peers.contains(&build.job));
        let rivals = peers.iter().filter(|peer| **peer != job.id);
        let rivals = rivals.filter(|peer| self.determined.get(*peer) == Some(&true));
        let rivals = rivals.filter_map(|peer| self.pending.get(peer)).flatten();
        Group {
            running: running.count() as u32,
            first_rival: rivals.map(|build| build.key).min(),
        }
    }

    fn pass(&mut self, id: JobId) -> (Next, bool) {
        let job = self.graph.job(id).unwrap().clone();
        let (inputs, _) = self.world.resolve_job(&mut self.view, &job);
        let was = self.determined.insert(id, inputs.is_determined());
        let pending = self.pending.get(&id).cloned().unwrap_or_default();
        let decided = pass(&JobState {
            job: &job,
            pauses: Pauses::default(),
            pending: &pending,
            group: self.group(&job),
            spacing: airside_schedule::pass::JobSpacing::Free,
            checked: &self.checked,
            inputs: &inputs,
        });
        for action in &decided.actions {
            match action {
                Action::Create { .. } => {
                    self.add(id, BuildOrigin::Trigger, None);
                }
                Action::Start {
                    build,
                    inputs: from,
                } => self.start(&job, *build, *from, &inputs),
                Action::Abort { build } => self.drop_pending(id, *build),
                Action::Check { .. } | Action::Wait { .. } => {}
            }
        }
        (decided.next, was != Some(inputs.is_determined()))
    }

    fn drop_pending(&mut self, job: JobId, key: BuildKey) {
        self.pending
            .entry(job)
            .or_default()
            .retain(|build| build.key != key);
    }

    fn start(&mut self, job: &Job, key: BuildKey, from: InputsFrom, resolution: &Resolution) {
        self.drop_pending(job.id, key);
        let mut build = BuildRow {
            job: job.id,
            key,
            succeeded: false,
            carried: Vec::new(),
            inputs: Vec::new(),
            pipes: Vec::new(),
        };
        match from {
            InputsFrom::Original(original) => {
                let mut builds = self.world.builds.iter();
                let original = builds.find(|build| build.key.build == original).unwrap();
                build.inputs = original.inputs.clone();
                build.pipes = original.pipes.clone();
            }
            InputsFrom::Resolution => {
                for (name, outcome) in &resolution.inputs {
                    let chosen = outcome.as_ref().unwrap();
                    build.inputs.push((*name, chosen.carried));
                    let all = self.world.builds.iter();
                    let from = all.filter(|build| chosen.passed.contains(&build.key.build));
                    build.pipes.extend(from.map(|build| (build.job, build.key)));
                }
            }
        }
        let carried: Vec<Carried> = build.inputs.iter().map(|(_, carried)| *carried).collect();
        build.carried = Carried::of_build(&[], &carried);
        let inputs = build.inputs.iter().map(|(name, carried)| {
            let Ok(state) = self.world.version(*carried);
            (*name, *carried, state.unwrap().order)
        });
        self.view.apply(Change::InputsUsed {
            job: job.id,
            inputs: inputs.collect(),
            pipes: build.pipes.clone(),
        });
        self.world.builds.push(build.clone());
        self.running.push(build);
    }

    /// The build that has run longest ends.
    fn finish(&mut self, succeeded: bool) {
        let mut build = self.running.remove(0);
        build.succeeded = succeeded;
        let job = build.job;
        let mut builds = self.world.builds.iter_mut();
        *builds.find(|row| row.key == build.key).unwrap() = build.clone();
        if succeeded {
            self.view.apply(Change::BuildSucceeded {
                job,
                key: build.key,
                carried: build.carried.clone(),
            });
            let versions = build.carried.iter().map(|carried| {
                let name = self.world.resource_name(carried.resource);
                format!(" {name}{}", carried.version.0 % 1_000_000)
            });
            let name = &self.world.jobs[job.0 as usize - 1];
            self.done
                .push(format!("{name}{}", versions.collect::<String>()));
        }
        self.tell(Event::BuildFinished { job, succeeded });
    }

    fn finish_all(&mut self) {
        while !self.running.is_empty() {
            self.finish(true);
        }
    }
}

#[test]
fn a_version_goes_down_a_chain_of_jobs() {
    let mut pipeline = "resources: [{name: x, type: mock, source: {}}]\njobs:\n".to_owned();
    for at in 1..=20 {
        let passed = match at {
            1 => String::new(),
            _ => format!(", passed: [j{}]", at - 1),
        };
        pipeline += &format!("- {{name: j{at}, plan: [{{get: x, trigger: true{passed}}}]}}\n");
    }
    let mut house = House::new(&pipeline);
    house.find(X, 1);
    house.finish_all();
    let expected: Vec<String> = (1..=20).map(|at| format!("j{at} x1")).collect();
    assert_eq!(house.done, expected);
}

#[test]
fn every_version_is_built_in_order_one_at_a_time() {
    let mut house = House::new(
        "
resources: [{name: x, type: mock, source: {}}]
jobs:
- {name: a, serial: true, plan: [{get: x, trigger: true, version: every}]}
- {name: b, serial: true, plan: [{get: x, trigger: true, version: every, passed: [a]}]}
",
    );
    for number in 1..=4 {
        house.find(X, number);
        assert!(house.running.len() <= 2);
    }
    house.finish_all();
    let of = |job: &str| -> Vec<String> {
        let done = house.done.iter().filter(|done| done.starts_with(job));
        done.cloned().collect()
    };
    assert_eq!(of("a"), ["a x1", "a x2", "a x3", "a x4"]);
    assert_eq!(of("b"), ["b x1", "b x2", "b x3", "b x4"]);
}

#[test]
fn the_latest_version_is_built_and_those_before_it_are_not() {
    let mut house = House::new(
        "
resources: [{name: x, type: mock, source: {}}]
jobs: [{name: a, serial: true, plan: [{get: x, trigger: true}]}]
",
    );
    for number in 1..=4 {
        house.find(X, number);
    }
    house.finish_all();
    assert_eq!(house.done, ["a x1", "a x4"]);
}

#[test]
fn a_serial_group_gives_its_place_on_to_whoever_can_use_it() {
    let mut house = House::new(
        "
resources: [{name: x, type: mock, source: {}}, {name: z, type: mock, source: {}}]
jobs:
- {name: a, serial_groups: [g], plan: [{get: z}]}
- {name: b, serial_groups: [g], plan: [{get: x, trigger: true}]}
- {name: c, serial_groups: [g], plan: [{get: x, trigger: true}]}
",
    );
    // The first in line has no version of z: it must not hold the others up.
    house.add(JobId(1), BuildOrigin::Manual, None);
    house.tell(Event::JobAsked(JobId(1)));
    house.find(X, 1);
    assert_eq!(house.running.len(), 1);
    let checked = Checked {
        last_end: Some(Moment(9)),
        next_due: None,
    };
    house.checked.insert(ResourceId(2), checked);
    house.find(ResourceId(2), 7);
    assert_eq!(house.running.len(), 1, "one at a time");
    house.finish_all();
    assert_eq!(house.done, ["b x1", "a z7", "c x1"]);
}

#[test]
fn a_rerun_feeds_the_jobs_below_it() {
    let mut house = House::new(
        "
resources: [{name: x, type: mock, source: {}}]
jobs:
- {name: a, plan: [{get: x, trigger: true}]}
- {name: b, plan: [{get: x, trigger: true, passed: [a]}]}
",
    );
    house.find(X, 1);
    let failed = house.running[0].key;
    house.finish(false);
    assert!(house.done.is_empty() && house.running.is_empty());
    house.add(JobId(1), BuildOrigin::Rerun(Original::Ready), Some(failed));
    house.tell(Event::JobAsked(JobId(1)));
    house.finish_all();
    assert_eq!(house.done, ["a x1", "b x1"]);
}
