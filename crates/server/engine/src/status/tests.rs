//! Every node with every status of its children, stopped or not.

use super::Status::{Aborted, Errored, Failed, Succeeded, TimedOut};
use super::{Hook, Status, StopCause, Surroundings, attempted, timed, together, tried};

const ALL: [Status; 5] = [Succeeded, Failed, Errored, TimedOut, Aborted];
const STOPS: [Option<StopCause>; 3] = [None, Some(StopCause::TimedOut), Some(StopCause::Aborted)];

#[test]
fn a_hook_runs_for_what_it_is_named_after() {
    use Surroundings::{Fresh, Same};
    let runs = |hook: Hook, stopped| ALL.map(|step| hook.runs(step, stopped));
    for stopped in STOPS {
        let none = None;
        assert_eq!(
            runs(Hook::OnSuccess, stopped),
            [Some(Same), none, none, none, none]
        );
        assert_eq!(
            runs(Hook::OnFailure, stopped),
            [none, Some(Same), none, none, none]
        );
        assert_eq!(
            runs(Hook::OnError, stopped),
            [none, none, Some(Fresh), Some(Fresh), none]
        );
        assert_eq!(
            runs(Hook::OnAbort, stopped),
            [none, none, none, none, Some(Fresh)]
        );
        // Whatever stops the build does not stop an ensure.
        let ensure = if stopped.is_some() { Fresh } else { Same };
        assert_eq!(runs(Hook::Ensure, stopped), [Some(ensure); 5]);
    }
}

/// Rows: the step. Columns: the hook, in the order of `ALL`.
#[test]
fn a_hook_that_ran_counts_as_its_kind_says() {
    let join = |hook: Hook, step, stopped| ALL.map(|ran| hook.join(step, Some(ran), stopped));
    for stopped in STOPS {
        assert_eq!(join(Hook::OnSuccess, Succeeded, stopped), ALL);
        assert_eq!(
            join(Hook::OnFailure, Failed, stopped),
            [Failed, Failed, Errored, TimedOut, Aborted]
        );
        assert_eq!(
            join(Hook::OnError, Errored, stopped),
            [Errored, Errored, Errored, TimedOut, Aborted]
        );
        assert_eq!(
            join(Hook::OnError, TimedOut, stopped),
            [TimedOut, TimedOut, TimedOut, TimedOut, Aborted]
        );
        assert_eq!(join(Hook::OnAbort, Aborted, stopped), [Aborted; 5]);
    }
    for (row, step) in ALL.into_iter().enumerate() {
        let worse = ALL.map(|hook| ALL[row].max(hook));
        assert_eq!(join(Hook::Ensure, step, None), worse);
        assert_eq!(
            join(Hook::Ensure, step, Some(StopCause::Aborted)),
            [Aborted; 5]
        );
        assert_eq!(
            join(Hook::Ensure, step, Some(StopCause::TimedOut)),
            [TimedOut; 5]
        );
    }
}

#[test]
fn a_hook_that_did_not_run_changes_nothing() {
    let hooks = [
        Hook::OnSuccess,
        Hook::OnFailure,
        Hook::OnError,
        Hook::OnAbort,
        Hook::Ensure,
    ];
    for hook in hooks {
        for step in ALL {
            assert_eq!(hook.join(step, None, None), step);
        }
    }
}

#[test]
fn try_swallows_all_but_an_abort() {
    assert_eq!(
        ALL.map(tried),
        [Succeeded, Succeeded, Succeeded, Succeeded, Aborted]
    );
}

#[test]
fn a_timeout_is_a_failure() {
    assert_eq!(
        ALL.map(timed),
        [Succeeded, Failed, Errored, Failed, Aborted]
    );
}

#[test]
fn attempts_go_on_until_one_succeeds_or_all_is_stopped() {
    assert_eq!(
        ALL.map(|status| attempted(status, None)),
        [Some(Succeeded), None, None, None, None]
    );
    for status in ALL {
        assert_eq!(attempted(status, Some(StopCause::Aborted)), Some(Aborted));
        assert_eq!(attempted(status, Some(StopCause::TimedOut)), Some(TimedOut));
    }
}

#[test]
fn the_worst_of_several_counts() {
    assert_eq!(together([], None), Succeeded);
    for (row, one) in ALL.into_iter().enumerate() {
        for (column, other) in ALL.into_iter().enumerate() {
            let seen = |status| if status == Aborted { Failed } else { status };
            let worst = seen(ALL[row]).max(seen(ALL[column]));
            assert_eq!(together([one, other], None), worst, "{one:?} {other:?}");
            assert_eq!(together([one, other], Some(StopCause::Aborted)), Aborted);
            assert_eq!(together([one, other], Some(StopCause::TimedOut)), TimedOut);
        }
    }
}
