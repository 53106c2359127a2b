use airside_model::{BuildId, ContainerState, Handle, JobId, PlanId, StepLabels};
use airside_store::Container;

use super::*;

const HOUR: i64 = 3_600_000_000;
pub(super) const NOW: Micros = Micros(1000 * HOUR);

pub(super) fn ago(hours: i64) -> Micros {
    Micros(NOW.0 - hours * HOUR)
}

/// A container of a job's latest build, which failed an hour ago.
pub(super) fn failed(handle: &str) -> KeptContainer {
    let labels = StepLabels {
        team: "main".into(),
        team_id: airside_model::TeamId(1),
        pipeline: None,
        job: None,
        build: BuildId(1),
        build_name: "1".into(),
        step: "s".into(),
        kind: StepKind::Task,
        attempt: 1,
        attempts: Vec::new(),
    };
    KeptContainer {
        checked_at: None,
        container: Container {
            handle: Handle::new(handle),
            build: BuildId(1),
            plan: PlanId::new("1"),
            attempt: 1,
            placement: 1,
            worker: WorkerName::new("w"),
            state: ContainerState::Created,
            labels,
            uid: None,
            claimed_at: Some(ago(3)),
            kept_at: Some(ago(2)),
            hijacked_at: None,
            dir: String::new(),
            user: String::new(),
        },
        kept_at: ago(2),
        status: BuildStatus::Failed,
        job: Some(JobId(1)),
        ended_at: Some(ago(1)),
        superseded: false,
        epoch: 1,
    }
}

fn keeping() -> Keeping {
    Keeping {
        failed: Duration::from_secs(10 * 3600),
        failed_elsewhere: Duration::from_secs(2 * 3600),
        one_off: Duration::from_secs(1800),
        most: 3,
    }
}

/// The event, its effect on the row, whether the worker is a cluster, and whether the container
/// stays.
type Case = (&'static str, fn(&mut KeptContainer), bool, bool);

#[test]
fn when_a_kept_containers_time_is_over() {
    let table: [Case; 9] = [
        ("the latest that failed", |_| {}, false, true),
        (
            "errored",
            |kept| kept.status = BuildStatus::Errored,
            true,
            true,
        ),
        (
            "aborted",
            |kept| kept.status = BuildStatus::Aborted,
            false,
            true,
        ),
        ("superseded", |kept| kept.superseded = true, false, false),
        ("old", |kept| kept.ended_at = Some(ago(11)), false, false),
        (
            "old for a cluster",
            |kept| kept.ended_at = Some(ago(3)),
            true,
            false,
        ),
        (
            "succeeded",
            |kept| kept.status = BuildStatus::Succeeded,
            false,
            false,
        ),
        (
            "running, though an earlier step ended long ago",
            |kept| {
                kept.status = BuildStatus::Started;
                kept.kept_at = ago(500);
                kept.ended_at = None;
            },
            true,
            true,
        ),
        ("a one-off", |kept| kept.job = None, false, false),
    ];
    for (what, change, shared, stays) in table {
        let room = Room {
            shared,
            ..Room::default()
        };
        let mut kept = failed("h");
        change(&mut kept);
        assert_eq!(!keeping().is_over(&kept, room, NOW), stays, "{what}");
        // A person looks inside.
        kept.container.hijacked_at = Some(Micros(NOW.0 - 1));
        assert!(!keeping().is_over(&kept, room, NOW), "{what}");
    }
}

#[test]
fn the_oldest_go_when_there_are_too_many_on_a_worker() {
    let mut all: Vec<KeptContainer> = ["1", "2", "3", "4", "5"].map(failed).to_vec();
    all[1].container.hijacked_at = Some(NOW);
    all[2].container.worker = WorkerName::new("other");
    let names = |keeping: &Keeping| -> Vec<String> {
        let overdue = keeping.overdue(&all, |_| Room::default(), NOW);
        overdue
            .into_iter()
            .map(|container_ref| container_ref.handle.0)
            .collect()
    };
    assert_eq!(names(&keeping()), ["1"]);
    let none = Keeping {
        most: 0,
        ..keeping()
    };
    assert_eq!(names(&none), ["5", "4", "3", "1"]);
}

#[test]
fn a_worker_may_keep_fewer_and_for_less_long() {
    let limited = |most, minutes: u64| {
        let limits = KeptLimits {
            most,
            stay: Some(Duration::from_secs(minutes * 60)),
            shrink_after: None,
        };
        let room = Room {
            shared: true,
            limits,
        };
        let all = ["1", "2", "3"].map(failed);
        let overdue = keeping().overdue(&all, |_| room, NOW);
        overdue.len()
    };
    assert_eq!(limited(None, 61), 0);
    assert_eq!(limited(None, 59), 3, "they ended an hour ago");
    assert_eq!(limited(Some(1), 61), 2);
    assert_eq!(limited(Some(1000), 61), 0);
    let all = ["1", "2", "3", "4"].map(failed);
    let room = Room {
        shared: true,
        limits: KeptLimits {
            most: Some(1000),
            ..KeptLimits::default()
        },
    };
    let overdue = keeping().overdue(&all, |_| room, NOW);
    assert_eq!(overdue.len(), 1, "the server's own limit counts too");
}

#[test]
fn what_is_kept_for_checks_stays_as_long_as_it_is_used() {
    for (minutes, over) in [(1, false), (4, false), (6, true)] {
        let kept = KeptContainer {
            checked_at: Some(Micros(NOW.0 - minutes * 60_000_000)),
            status: BuildStatus::Succeeded,
            job: None,
            ..failed("a")
        };
        assert_eq!(
            keeping().is_over(&kept, Room::default(), NOW),
            over,
            "{minutes}"
        );
    }
}
