//! A view that is told of changes says the same as one that asks anew.

use airside_model::{JobId, ResourceId};
use airside_schedule::history::{VersionState, WalkSubject};
use airside_schedule::{
    BuildKey, Carried, Change, History, Learnt, Order, PAGE, Question, StoreAnswer, View,
    WrongAnswer, resolve,
};
use proptest::prelude::*;

use crate::property::{WILD, cases, read, world};
use crate::world::{AskedQuestions, NOW, VersionRow, World, content, version_id};

/// Something that happens, by resource and number of a version.
#[derive(Clone, Copy, Debug)]
enum Happening {
    NextBuild,
    Save(i64, i64),
    Toggle(i64, i64),
    Collect(i64, i64),
}

fn happening() -> impl Strategy<Value = Happening> {
    let version = (1..4_i64, 1..6_i64);
    prop_oneof![
        4 => Just(Happening::NextBuild),
        2 => version.clone().prop_map(|(resource, number)| Happening::Save(resource, number)),
        1 => version.clone().prop_map(|(resource, number)| Happening::Toggle(resource, number)),
        1 => version.prop_map(|(resource, number)| Happening::Collect(resource, number)),
    ]
}

impl World {
    /// Makes it so, and says what changed.
    fn happen(
        &mut self,
        happening: Happening,
        later: &mut Vec<crate::world::BuildRow>,
    ) -> Vec<Change> {
        match happening {
            Happening::NextBuild => later.pop().map(|build| self.run(build)).unwrap_or_default(),
            Happening::Save(resource, number) => vec![self.save(ResourceId(resource), number)],
            Happening::Toggle(resource, number) => {
                let (resource, version) = (
                    ResourceId(resource),
                    version_id(ResourceId(resource), number),
                );
                let rows = self.versions.entry(resource).or_default();
                let Some(row) = rows.iter_mut().find(|row| row.id == version) else {
                    return Vec::new();
                };
                row.state.enabled = !row.state.enabled;
                let enabled = row.state.enabled;
                vec![Change::VersionEnabled {
                    resource,
                    version,
                    enabled,
                }]
            }
            Happening::Collect(resource, number) => {
                let (resource, version) = (
                    ResourceId(resource),
                    version_id(ResourceId(resource), number),
                );
                let rows = self.versions.entry(resource).or_default();
                rows.retain(|row| row.id != version);
                vec![Change::VersionGone { resource, version }]
            }
        }
    }

    fn run(&mut self, build: crate::world::BuildRow) -> Vec<Change> {
        let job = build.job;
        let placed = build.inputs.iter().map(|(name, carried)| {
            let Ok(state) = self.version(*carried);
            state.map(|state| (*name, *carried, state.order))
        });
        let placed: Option<Vec<_>> = placed.collect();
        let pipes = build.pipes.clone();
        let used = match placed {
            Some(inputs) => Change::InputsUsed { job, inputs, pipes },
            None => Change::ForgetJob(job),
        };
        let succeeded = build.succeeded.then(|| Change::BuildSucceeded {
            job,
            key: build.key,
            carried: build.carried.clone(),
        });
        self.builds.push(build);
        std::iter::once(used).chain(succeeded).collect()
    }

    fn save(&mut self, resource: ResourceId, number: i64) -> Change {
        let version = version_id(resource, number);
        let rows = self.versions.entry(resource).or_default();
        let last = rows.iter().map(|row| row.state.order.0).max();
        let order = Order(last.unwrap_or(0) + 1);
        if let Some(row) = rows.iter_mut().find(|row| row.id == version) {
            row.state.order = order;
            let state = row.state;
            return Change::VersionSaved {
                resource,
                version,
                state,
            };
        }
        let state = VersionState {
            order,
            enabled: true,
        };
        rows.push(VersionRow {
            id: version,
            state,
            content: content(number),
        });
        Change::VersionSaved {
            resource,
            version,
            state,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(400), ..ProptestConfig::default() })]

    #[test]
    fn a_view_follows_what_happens(
        text in world(WILD),
        start in 0..40_usize,
        page in 1..5_usize,
        happenings in prop::collection::vec(happening(), 1..30),
    ) {
        let mut world = read(&text);
        // Builds of the scheduled job name builds before them, so they come last in the text, and
        // now.
        let mut later = world.builds.split_off(start.min(world.builds.len()));
        later.reverse();
        let mut view = View::with_pages_of(page);
        world.resolve_with(&mut view);
        for happening in happenings {
            for change in world.happen(happening, &mut later) {
                view.apply(change);
            }
            let Ok(whole) = resolve(&world, &world.job());
            let (told, _) = world.resolve_with(&mut view);
            prop_assert_eq!(
                world.show(&whole), world.show(&told), "after {:?} in\n{}", happening, text
            );
        }
    }
}

fn carried(version: i64) -> Carried {
    let resource = ResourceId(1);
    Carried {
        resource,
        version: version_id(resource, version),
    }
}

#[test]
fn wrong_answers_are_refused_and_teach_nothing() {
    let carrying = WalkSubject::Version(carried(1));
    let question = Question::BuildsDown {
        job: NOW,
        carrying,
        from: BuildKey::NEWEST,
    };
    let key = |id| BuildKey::first_run(airside_model::BuildId(id));
    let rows =
        |ids: &[i64]| StoreAnswer::Builds(ids.iter().map(|id| (key(*id), Vec::new())).collect());
    let mut view = View::default();
    let wrong_kind = view.learn(view.ticket(), &question, StoreAnswer::Used(true));
    assert!(matches!(wrong_kind, Err(WrongAnswer::Kind { .. })));
    let upside_down = view.learn(view.ticket(), &question, rows(&[1, 2]));
    assert!(matches!(upside_down, Err(WrongAnswer::Order { .. })));
    let twice = view.learn(view.ticket(), &question, rows(&[2, 2]));
    assert!(matches!(twice, Err(WrongAnswer::Order { .. })));
    let too_many: Vec<i64> = (0..=PAGE as i64).rev().collect();
    let too_many = view.learn(view.ticket(), &question, rows(&too_many));
    assert!(matches!(too_many, Err(WrongAnswer::TooMany { .. })));
    let above = Question::BuildsDown {
        job: NOW,
        carrying,
        from: key(3),
    };
    let out_of_range = view.learn(view.ticket(), &above, rows(&[4]));
    assert!(matches!(out_of_range, Err(WrongAnswer::Order { .. })));
    assert_eq!(
        view.older_build(NOW, carrying, BuildKey::NEWEST),
        Err(question)
    );
    assert_eq!(view.size(), 0);
}

#[test]
fn a_change_of_something_unknown_is_no_knowledge() {
    let mut view = View::default();
    let state = VersionState {
        order: Order(1),
        enabled: true,
    };
    let added = Change::VersionSaved {
        resource: ResourceId(1),
        version: carried(1).version,
        state,
    };
    view.apply(added);
    assert!(view.newest_enabled(ResourceId(1), Order::NEWEST).is_err());
    let key = BuildKey::first_run(airside_model::BuildId(1));
    let succeeded = Change::BuildSucceeded {
        job: JobId(1),
        key,
        carried: vec![carried(1)],
    };
    view.apply(succeeded);
    assert!(
        view.older_build(JobId(1), WalkSubject::Version(carried(1)), BuildKey::NEWEST)
            .is_err()
    );
}

#[test]
fn an_answer_that_was_overtaken_is_not_learnt() {
    let resource = ResourceId(1);
    let question = Question::VersionsDown {
        resource,
        from: Order::NEWEST,
    };
    let row = |number| {
        let state = VersionState {
            order: Order(number),
            enabled: true,
        };
        (version_id(resource, number), state)
    };
    let mut view = View::default();
    let ticket = view.ticket();
    // The store is read here, and then a check saves version 2.
    let answer = StoreAnswer::Versions(vec![row(1)]);
    let (version, state) = row(2);
    view.apply(Change::VersionSaved {
        resource,
        version,
        state,
    });
    assert_ne!(view.ticket(), ticket);
    assert_eq!(view.learn(ticket, &question, answer), Ok(Learnt::Overtaken));
    assert!(
        view.newest_enabled(resource, Order::NEWEST).is_err(),
        "to be asked again"
    );
    // What happened to others is of no matter.
    let ticket = view.ticket();
    view.apply(Change::ForgetResource(ResourceId(2)));
    view.apply(Change::ForgetJob(JobId(1)));
    let answer = StoreAnswer::Versions(vec![row(2), row(1)]);
    assert_eq!(view.learn(ticket, &question, answer), Ok(Learnt::Yes));
    let newest = view
        .newest_enabled(resource, Order::NEWEST)
        .unwrap()
        .unwrap();
    assert_eq!(newest.version, version);
    // The last use of a resource depends on both, the job and the resource.
    let question = Question::LastUse {
        job: JobId(1),
        resource,
    };
    for change in [
        Change::ForgetJob(JobId(1)),
        Change::ForgetResource(resource),
    ] {
        let ticket = view.ticket();
        view.apply(change);
        let learnt = view.learn(ticket, &question, StoreAnswer::LastUse(None));
        assert_eq!(learnt, Ok(Learnt::Overtaken));
    }
}

#[test]
fn a_trimmed_view_asks_again() {
    let world = read("versions x: 1 2 3\nget x\n");
    let mut view = View::default();
    let (before, _) = world.resolve_with(&mut view);
    assert!(view.size() > 2);
    view.trim(2);
    assert_eq!(view.size(), 1, "the one use of the job is below the limit");
    let (after, asked) = world.resolve_with(&mut view);
    assert_eq!(before, after);
    assert_eq!(
        asked,
        AskedQuestions {
            questions: 1,
            rows: 3
        }
    );
}
