use proptest::prelude::*;

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + seconds).unwrap()
}

fn wanted(number: u8, size: u64) -> DesiredImage {
    let hex = format!("{number:064x}");
    DesiredImage {
        name: format!("app:{number}").parse().unwrap(),
        content: format!("app@sha256:{hex}").parse().unwrap(),
        id: format!("id-{number}"),
        size,
        pinned: true,
        priority: 0,
        failures_before_error: 3,
    }
}

fn found(number: u8, size: u64) -> ObservedImage {
    ObservedImage {
        id: format!("id-{number}"),
        names: vec![format!("app:{number}").parse().unwrap()],
        size,
        pin: Pin::Ours,
        pulled: Some(at(i64::from(number))),
        in_use: false,
    }
}

/// A node with everything that a plan needs.
struct Stage {
    wanted: Vec<DesiredImage>,
    found: Vec<ObservedImage>,
    attempts: BTreeMap<String, Attempts>,
    pulling: BTreeSet<String>,
    held: BTreeSet<String>,
    disk: Disk,
    collecting: bool,
    rules: DiskRules,
}

impl Stage {
    fn new(wanted: Vec<DesiredImage>, found: Vec<ObservedImage>) -> Self {
        Self {
            wanted,
            found,
            attempts: BTreeMap::new(),
            pulling: BTreeSet::new(),
            held: BTreeSet::new(),
            disk: Disk {
                used: 100,
                capacity: 1000,
                pressure: false,
            },
            collecting: false,
            rules: DiskRules::default(),
        }
    }

    fn plan(&self) -> Plan {
        plan(&PlanInput {
            now: at(0),
            desired: &self.wanted,
            observed: &self.found,
            attempts: &self.attempts,
            pulling: &self.pulling,
            held: &self.held,
            disk: self.disk,
            collecting: self.collecting,
            rules: &self.rules,
            pulls_at_once: 2,
        })
    }

    fn states(&self) -> Vec<NodeImageState> {
        self.plan()
            .states
            .into_iter()
            .map(|state| state.state)
            .collect()
    }
}

#[test]
fn what_is_missing_is_pulled_the_biggest_first_and_few_at_once() {
    let stage = Stage::new(vec![wanted(1, 10), wanted(2, 30), wanted(3, 20)], vec![]);
    let plan = stage.plan();
    assert_eq!(
        plan.steps,
        [Step::Pull(wanted(2, 30)), Step::Pull(wanted(3, 20))]
    );
    use NodeImageState::{Pending, Pulling};
    assert_eq!(stage.states(), [Pending, Pulling, Pulling]);
    assert_eq!(plan.states[0].waiting, Some(Waiting::Turn));
    assert!(plan.labels.is_empty());
}

#[test]
fn a_higher_priority_goes_first() {
    let mut urgent = wanted(1, 10);
    urgent.priority = 5;
    let stage = Stage::new(vec![wanted(2, 30), wanted(3, 20), urgent.clone()], vec![]);
    assert_eq!(stage.plan().steps[0], Step::Pull(urgent));
}

#[test]
fn what_is_there_is_labelled_and_pinned_once() {
    let mut stage = Stage::new(vec![wanted(1, 10)], vec![found(1, 10)]);
    let labels = BTreeMap::from([(label::key(&wanted(1, 0).content), Presence::Present)]);
    assert_eq!((stage.plan().labels, stage.plan().steps), (labels, vec![]));
    stage.found[0].pin = Pin::None;
    assert_eq!(stage.plan().steps, [Step::Pin { id: "id-1".into() }]);
    stage.found[0].pin = Pin::Others;
    assert_eq!(stage.plan().steps, []);
}

#[test]
fn an_image_that_somebody_else_pulled_is_adopted() {
    let mut theirs = found(1, 10);
    (theirs.pulled, theirs.pin) = (None, Pin::None);
    let stage = Stage::new(vec![wanted(1, 10)], vec![theirs]);
    assert_eq!(stage.states(), [NodeImageState::Present]);
    assert_eq!(stage.plan().steps, [Step::Pin { id: "id-1".into() }]);
}

#[test]
fn content_under_another_name_is_not_there_yet() {
    let mut other = found(1, 10);
    other.names = vec!["other:1".parse().unwrap()];
    let stage = Stage::new(vec![wanted(1, 10)], vec![other]);
    assert!(stage.plan().steps.contains(&Step::Pull(wanted(1, 10))));
}

#[test]
fn failures_wait_longer_each_time_and_end_in_error() {
    let mut stage = Stage::new(vec![wanted(1, 10)], vec![]);
    let content = wanted(1, 10).content.to_string();
    let mut waits = vec![];
    let mut attempts = Attempts::default();
    for _ in 0..3 {
        attempts = attempts.failed(at(0));
        stage.attempts.insert(content.clone(), attempts);
        let plan = stage.plan();
        assert_eq!(plan.steps, []);
        waits.push((
            plan.again.unwrap().duration_since(at(0)).as_secs(),
            plan.states[0].state,
        ));
    }
    use NodeImageState::{Error, Pending};
    assert_eq!(waits, [(5, Pending), (10, Pending), (600, Error)]);
    assert_eq!(
        stage.plan().labels.into_values().collect::<Vec<_>>(),
        [Presence::Error]
    );
    attempts.last = Some(at(-600));
    stage.attempts.insert(content, attempts);
    assert_eq!(
        stage.plan().steps.len(),
        1,
        "it is tried again now and then"
    );
}

#[test]
fn what_no_set_wants_any_more_goes_unless_it_is_used_or_not_ours() {
    let mut others = found(2, 10);
    others.pulled = None;
    let mut used = found(3, 10);
    used.in_use = true;
    let mut pinned = found(4, 10);
    pinned.pin = Pin::Others;
    let stage = Stage::new(vec![], vec![found(1, 10), others, used, pinned]);
    let unpinned = |number| Step::Unpin {
        id: format!("id-{number}"),
    };
    assert_eq!(
        stage.plan().steps,
        [Step::Remove { id: "id-1".into() }, unpinned(2), unpinned(3)]
    );
}

#[test]
fn nothing_is_added_from_the_high_mark_on() {
    let mut stage = Stage::new(vec![wanted(1, 10)], vec![]);
    stage.disk.used = 750;
    assert_eq!(stage.plan().steps, []);
    assert_eq!(stage.plan().states[0].waiting, Some(Waiting::Room));
    stage.disk.used = 745;
    assert_eq!(stage.plan().steps, [], "it would be above the mark");
    stage.disk.used = 700;
    assert_eq!(stage.plan().steps.len(), 1);
    let collected = Attempts {
        collected: true,
        ..Attempts::default()
    };
    stage
        .attempts
        .insert(stage.wanted[0].content.to_string(), collected);
    assert_eq!(
        stage.plan().steps,
        [],
        "what had to go comes back only below the low mark"
    );
}

#[test]
fn pulls_under_way_count_against_the_mark() {
    // Each takes twice its size, and there are 650 until the mark.
    let urgent = |number, size| DesiredImage {
        priority: 1,
        ..wanted(number, size)
    };
    let waits = |stage: &Stage, at: usize| stage.plan().states[at].waiting.clone();
    let mut stage = Stage::new(vec![wanted(1, 200), wanted(2, 150), wanted(3, 10)], vec![]);
    assert_eq!(
        stage.plan().steps,
        [Step::Pull(wanted(1, 200))],
        "two at once would pass it together"
    );
    assert_eq!(
        waits(&stage, 1),
        Some(Waiting::Turn),
        "there is room once the other is there"
    );
    assert_eq!(
        waits(&stage, 2),
        Some(Waiting::Turn),
        "nobody goes before the one whose turn it is"
    );
    stage.pulling.insert(wanted(1, 200).content.to_string());
    stage.disk.used = 300;
    assert_eq!(stage.plan().steps, [], "though half of it is there already");
    stage.pulling.clear();
    stage.found = vec![found(1, 200)];
    stage.disk.used = 440;
    assert_eq!(stage.plan().steps, [Step::Pull(wanted(2, 150))]);
    stage.disk.used = 500;
    assert_eq!(waits(&stage, 1), Some(Waiting::Room));
    assert_eq!(
        stage.plan().steps,
        [Step::Pull(wanted(3, 10))],
        "what can never fit keeps nobody waiting"
    );

    let mut stage = Stage::new(vec![urgent(1, 200), wanted(2, 150)], vec![]);
    stage.held.insert(wanted(1, 200).content.to_string());
    assert_eq!(
        stage.plan().steps,
        [Step::Pull(wanted(2, 150))],
        "one that may not begin takes no room"
    );
    let (mut other, first) = (wanted(1, 200), wanted(1, 200));
    other.name = "another:1".parse().unwrap();
    let stage = Stage::new(vec![first, other], vec![]);
    assert_eq!(
        stage.plan().steps.len(),
        2,
        "one content takes its room once"
    );
}

#[test]
fn above_the_high_mark_the_oldest_of_ours_go_down_to_the_low_one() {
    let wanted: Vec<DesiredImage> = (1..=4).map(|number| wanted(number, 60)).collect();
    let mut stage = Stage::new(wanted, (1..=4).map(|number| found(number, 60)).collect());
    stage.found[0].in_use = true;
    stage.disk.used = 760;
    let gone = |stage: &Stage| -> Vec<String> {
        let steps = stage.plan().steps.into_iter();
        steps
            .filter_map(|step| {
                if let Step::Remove { id } = step {
                    Some(id)
                } else {
                    None
                }
            })
            .collect()
    };
    assert_eq!(gone(&stage), ["id-2"], "one at a time");
    assert_eq!(
        stage.plan().labels.len(),
        3,
        "its label goes with or before it"
    );
    let next = stage.found.remove(1);
    stage.disk.used = 700;
    assert!(gone(&stage).is_empty(), "below the high mark");
    stage.collecting = true;
    assert_eq!(gone(&stage), ["id-3"], "but not yet at the low one");
    stage.disk.used = 650;
    assert!(gone(&stage).is_empty());
    stage.found.insert(1, next);
    (stage.disk.used, stage.collecting) = (760, false);
    stage.rules.order = GarbageOrder::Largest;
    stage.found[3].size = 200;
    assert_eq!(gone(&stage), ["id-4"]);
    stage.wanted[3].priority = 1;
    assert_eq!(gone(&stage), ["id-2"]);
    stage.rules.mode = GarbageMode::Refuse;
    assert!(gone(&stage).is_empty());
}

#[test]
fn pins_stay_within_their_budget_and_go_under_pressure() {
    let mut stage = Stage::new(
        vec![wanted(1, 10), wanted(2, 10)],
        vec![found(1, 10), found(2, 10)],
    );
    stage.rules.pin_budget = 10;
    stage.wanted[1].priority = 1;
    assert_eq!(stage.plan().steps, [Step::Unpin { id: "id-1".into() }]);
    stage.disk.pressure = true;
    stage.rules.mode = GarbageMode::Refuse;
    assert_eq!(stage.plan().steps.len(), 2);
}

proptest! {
    #[test]
    fn nothing_of_others_and_nothing_in_use_ever_goes(
        wanted_ones in proptest::collection::btree_set(0u8..8, 0..6),
        there in proptest::collection::btree_map(0u8..8, (1u64..300, any::<bool>(), any::<bool>(), 0u8..3), 0..8),
        used in 0u64..1000,
        pressure in any::<bool>(),
    ) {
        let found_ones = there.iter().map(|(number, (size, ours, in_use, pin))| ObservedImage {
            pulled: ours.then(|| at(0)),
            in_use: *in_use,
            pin: [Pin::None, Pin::Ours, Pin::Others][usize::from(*pin)],
            ..found(*number, *size)
        }).collect();
        let mut stage = Stage::new(wanted_ones.iter().map(|number| wanted(*number, 50)).collect(), found_ones);
        stage.disk.used = used;
        stage.disk.pressure = pressure;
        let plan = stage.plan();
        prop_assert_eq!(plan.states.len(), stage.wanted.len());
        for step in &plan.steps {
            if let Step::Remove { id } | Step::Unpin { id } = step {
                let found = stage.found.iter().find(|found| found.id == *id).unwrap();
                prop_assert!(found.pin != Pin::Others);
                if matches!(step, Step::Remove { .. }) {
                    prop_assert!(found.pulled.is_some() && !found.in_use);
                }
            }
        }
        let presents = plan.labels.values().filter(|presence| **presence == Presence::Present).count();
        prop_assert!(presents <= stage.found.len());
    }
}
