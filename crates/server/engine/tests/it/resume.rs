//! A server that starts goes on with the builds of the one before, whatever state their steps are
//! in.

use airside_model::BuildStatus;
use airside_protocol::Exit;

use crate::{
    on_large_stacks,
    plans::{hooked, in_order, plan, task},
    server::Site,
};

/// Number of events of one kind in a build's log.
fn count(log: &str, event: &str) -> usize {
    log.matches(&format!("\"event\":\"{event}\"")).count()
}

#[test]
fn a_step_that_was_placed_is_adopted() {
    on_large_stacks(async {
        let site = Site::new();
        site.machine.allow_claim("step", false);
        let server = site.start().await;
        let build = server.run(&plan(task("step"))).await;
        site.machine.wait("placed step").await;
        site.stop(server).await;
        let server = site.start().await;
        site.machine.allow_claim("step", true);
        site.machine.exit("step", Exit::Code(0));
        let (status, log) = server.ended(build).await;
        assert_eq!(status, BuildStatus::Succeeded, "{log}");
        assert_eq!((site.machine.began().len(), site.machine.placed()), (1, 1));
    });
}

#[test]
fn a_step_that_runs_is_followed_further() {
    on_large_stacks(async {
        let site = Site::new();
        let server = site.start().await;
        let build = server.run(&plan(task("step"))).await;
        site.machine.wait("claimed step").await;
        site.stop(server).await;
        let server = site.start().await;
        site.machine.wait("reclaimed step").await;
        site.machine.exit("step", Exit::Code(1));
        let (status, log) = server.ended(build).await;
        assert_eq!(status, BuildStatus::Failed, "{log}");
        assert_eq!((site.machine.began().len(), site.machine.placed()), (1, 1));
        assert_eq!(count(&log, "initialize-task"), 1, "{log}");
        assert_eq!(count(&log, "finish-task"), 1, "{log}");
    });
}

#[test]
fn a_step_that_ended_while_no_server_was_up_counts_once() {
    on_large_stacks(async {
        let site = Site::new();
        let server = site.start().await;
        let build = server.run(&plan(task("step"))).await;
        site.machine.wait("claimed step").await;
        site.stop(server).await;
        site.machine.exit("step", Exit::Code(0));
        let server = site.start().await;
        let (status, log) = server.ended(build).await;
        assert_eq!(status, BuildStatus::Succeeded, "{log}");
        assert_eq!((site.machine.began().len(), site.machine.placed()), (1, 1));
        assert_eq!(count(&log, "finish-task"), 1, "{log}");
    });
}

#[test]
fn a_step_with_an_outcome_never_runs_again() {
    on_large_stacks(async {
        let site = Site::new();
        site.machine.exit("first", Exit::Code(0));
        let mut server = site.start().await;
        let steps = in_order(&[task("first"), task("second")]);
        let build = server.run(&plan(steps)).await;
        site.machine.wait("claimed second").await;
        for _ in 0..2 {
            site.stop(server).await;
            server = site.start().await;
        }
        site.machine.exit("second", Exit::Code(0));
        let (status, log) = server.ended(build).await;
        assert_eq!(status, BuildStatus::Succeeded, "{log}");
        assert_eq!(site.machine.began(), ["first", "second"]);
    });
}

#[test]
fn a_hook_that_runs_is_followed_further_and_its_step_is_not_run_again() {
    on_large_stacks(async {
        let site = Site::new();
        site.machine.exit("step", Exit::Code(1));
        let server = site.start().await;
        let build = server.run(&plan(hooked("on_failure", task("step")))).await;
        site.machine.wait("claimed on_failure").await;
        site.stop(server).await;
        let server = site.start().await;
        site.machine.exit("on_failure", Exit::Code(0));
        let (status, log) = server.ended(build).await;
        assert_eq!(status, BuildStatus::Failed, "{log}");
        assert_eq!(site.machine.began(), ["step", "on_failure"]);
    });
}

#[test]
fn an_abort_that_no_server_could_carry_out_is_carried_out_by_the_next() {
    on_large_stacks(async {
        let site = Site::new();
        site.machine.exit("on_abort", Exit::Code(0));
        let server = site.start().await;
        let build = server.run(&plan(hooked("on_abort", task("step")))).await;
        site.machine.wait("claimed step").await;
        let store = server.store.clone();
        site.stop(server).await;
        store.request_abort(build).await.unwrap();
        let server = site.start().await;
        let (status, log) = server.ended(build).await;
        assert_eq!(status, BuildStatus::Aborted, "{log}");
        assert_eq!(site.machine.stopped(), ["step"]);
        assert_eq!(site.machine.began(), ["step", "on_abort"]);
    });
}
