use airside_model::Version;
use airside_schedule::{checks::CheckRule, graph::Part};

use super::*;

const PIPELINE: PipelineId = PipelineId(1);

fn now(seconds: u64) -> Now {
    // The wall began long before the server did.
    Now {
        wall: Moment(1_000_000_000_000_000 + seconds as i64 * 1_000_000),
        run: Duration::from_secs(seconds),
    }
}

fn resource(id: i64, part: Part) -> KnownResource<&'static str> {
    KnownResource {
        resource: Resource {
            id: ResourceId(id),
            check: CheckRule::default(),
            pin: None,
            part,
        },
        facts: CheckFacts::default(),
        spec: "spec",
    }
}

fn queue(
    resources: Vec<KnownResource<&'static str>>,
    arrival: Arrival,
) -> CheckQueue<&'static str> {
    let mut queue = CheckQueue::new(CheckPolicy::default());
    queue.set_pipeline(PIPELINE, false, resources, arrival, now(0));
    queue
}

fn ended(at: Now, failures: u32) -> CheckFacts {
    CheckFacts {
        last_end: Some(at.wall),
        failures,
        has_versions: true,
        has_pinned_version: false,
    }
}

/// All that begin by then.
fn started(queue: &mut CheckQueue<&'static str>, at: Now) -> Vec<i64> {
    std::iter::from_fn(|| queue.start(at, false))
        .map(|start| start.resource.0)
        .collect()
}

#[test]
fn a_new_trigger_is_checked_at_once_and_then_every_minute() {
    let mut queue = queue(vec![resource(1, Part::Trigger)], Arrival::Later);
    assert_eq!(started(&mut queue, now(0)), [1]);
    assert_eq!(queue.next(), None, "under way");
    queue.finished(ResourceId(1), Some(ended(now(1), 0)), now(1));
    let first = queue.next().unwrap();
    let nearly = Duration::from_secs(30)..=Duration::from_secs(92);
    assert!(nearly.contains(&first), "{first:?}");
    let at = Now {
        run: first,
        wall: Moment(now(0).wall.0 + first.as_micros() as i64),
    };
    assert_eq!(started(&mut queue, at), [1]);
    queue.finished(ResourceId(1), Some(ended(at, 0)), at);
    assert_eq!(queue.next(), Some(first + Duration::from_secs(60)));
}

#[test]
fn what_nobody_waits_for_is_checked_once() {
    let mut queue = queue(vec![resource(1, Part::NoInput)], Arrival::Later);
    assert_eq!(started(&mut queue, now(0)), [1]);
    queue.finished(ResourceId(1), Some(ended(now(1), 0)), now(1));
    assert_eq!(queue.next(), None);
}

#[test]
fn paused_pipelines_and_never_wait_until_somebody_asks() {
    let mut never = resource(2, Part::Trigger);
    never.resource.check.every = Some(Interval::Never);
    let mut queue = CheckQueue::new(CheckPolicy::default());
    let all = vec![resource(1, Part::Trigger), never];
    queue.set_pipeline(PIPELINE, true, all.clone(), Arrival::Later, now(0));
    assert_eq!(started(&mut queue, now(1000)), [0; 0]);
    assert!(queue.request(ResourceId(2)));
    assert_eq!(queue.next(), Some(Duration::ZERO));
    assert_eq!(started(&mut queue, now(0)), [2]);
    queue.set_pipeline(PIPELINE, false, all, Arrival::Later, now(0));
    assert_eq!(started(&mut queue, now(0)), [1]);
    assert!(!queue.request(ResourceId(3)));
}

#[test]
fn an_administrators_pause_holds_up_only_what_nobody_asked_for() {
    let both = vec![resource(1, Part::Trigger), resource(2, Part::Trigger)];
    let mut queue = queue(both, Arrival::Later);
    queue.request(ResourceId(2));
    let start = queue.start(now(0), true).map(|start| start.resource.0);
    assert_eq!(start, Some(2));
    assert_eq!(queue.start(now(0), true), None);
    assert_eq!(started(&mut queue, now(0)), [1]);
}

#[test]
fn who_asks_while_a_check_is_under_way_gets_another() {
    let mut queue = queue(vec![resource(1, Part::Trigger)], Arrival::Later);
    assert_eq!(started(&mut queue, now(0)), [1]);
    queue.request(ResourceId(1));
    queue.request(ResourceId(1));
    assert_eq!(started(&mut queue, now(0)), [0; 0]);
    queue.finished(ResourceId(1), Some(ended(now(1), 0)), now(1));
    assert_eq!(
        queue.start(now(1), false).map(|start| start.asked),
        Some(true)
    );
    queue.finished(ResourceId(1), Some(ended(now(2), 0)), now(2));
    assert_eq!(queue.start(now(2), false), None, "once for both");
}

#[test]
fn failing_ones_wait_longer_each_time_but_not_for_ever() {
    let mut queue = queue(vec![resource(1, Part::Trigger)], Arrival::Later);
    let mut at = now(0);
    let mut waits = Vec::new();
    for failures in 1..=7 {
        assert_eq!(started(&mut queue, at), [1]);
        queue.finished(ResourceId(1), Some(ended(at, failures)), at);
        let next = queue.next().unwrap();
        waits.push((next - at.run).as_secs());
        at = now(next.as_secs());
    }
    assert_eq!(waits, [60, 120, 240, 480, 600, 600, 600]);
}

#[test]
fn after_a_restart_what_is_overdue_is_spread() {
    let overdue = |id| KnownResource {
        facts: CheckFacts {
            last_end: Some(Moment(0)),
            has_versions: true,
            ..CheckFacts::default()
        },
        ..resource(id, Part::Trigger)
    };
    let mut queue = queue((1..=600).map(overdue).collect(), Arrival::AtStart);
    let mut total = 0;
    for second in 0..60 {
        let count = started(&mut queue, now(second + 1)).len();
        assert!((5..=15).contains(&count), "{second}: {count}");
        total += count;
    }
    assert_eq!(total, 600);
}

#[test]
fn a_clock_that_was_set_back_silences_nothing() {
    let mut known = resource(1, Part::Trigger);
    let hour = 3_600_000_000;
    known.facts.last_end = Some(Moment(now(0).wall.0 + hour));
    let mut queue = queue(vec![known], Arrival::Later);
    let next = queue.next().unwrap();
    assert!(next <= Duration::from_secs(90), "{next:?}");
}

#[test]
fn what_a_configuration_no_longer_has_is_forgotten() {
    let mut queue = queue(
        vec![resource(1, Part::Trigger), resource(2, Part::Trigger)],
        Arrival::Later,
    );
    let left = vec![resource(2, Part::Trigger)];
    queue.set_pipeline(PIPELINE, false, left, Arrival::Later, now(0));
    assert_eq!(started(&mut queue, now(0)), [2]);
    queue.remove_pipeline(PIPELINE);
    queue.finished(ResourceId(2), Some(ended(now(1), 0)), now(1));
    assert_eq!(queue.next(), None);
}

#[test]
fn a_pin_that_nobody_has_seen_is_looked_for() {
    let mut queue = queue(vec![resource(1, Part::Input)], Arrival::Later);
    started(&mut queue, now(0));
    queue.finished(ResourceId(1), Some(ended(now(1), 0)), now(1));
    assert_eq!(queue.next(), None);
    let pin = |known: &mut KnownResource<_>| known.resource.pin = Some(Version::from([("v", "1")]));
    queue.learn(ResourceId(1), pin, now(100));
    assert_eq!(started(&mut queue, now(200)), [1]);
}
