//! A step that has had its time is stopped, and has failed.

use airside_model::BuildStatus;
use airside_protocol::Exit;
use serde_json::Value;

use crate::{
    on_large_stacks,
    plans::{hooked, plan, task, task_with_timeout, timed},
    server::Site,
};

/// Runs a step that never ends by itself, and its hook.
async fn fails_in_time(step: Value, restarts: bool) {
    let site = Site::new();
    site.machine.exit("on_failure", Exit::Code(0));
    let mut server = site.start().await;
    let build = server.run(&plan(hooked("on_failure", step))).await;
    if restarts {
        site.machine.wait("claimed step").await;
        site.stop(server).await;
        server = site.start().await;
    }
    let (status, log) = server.ended(build).await;
    assert_eq!(status, BuildStatus::Failed, "{log}");
    assert!(log.contains("timeout exceeded"), "{log}");
    assert_eq!(site.machine.stopped(), ["step"]);
    assert_eq!(site.machine.began(), ["step", "on_failure"]);
}

#[test]
fn a_timeout_around_a_step_stops_it() {
    on_large_stacks(fails_in_time(timed(task("step"), "500ms"), false));
}

#[test]
fn a_tasks_own_timeout_stops_it() {
    on_large_stacks(fails_in_time(task_with_timeout("step", "500ms"), false));
}

#[test]
fn a_timeout_goes_on_after_a_restart() {
    on_large_stacks(fails_in_time(timed(task("step"), "2s"), true));
}

#[test]
fn a_step_that_ends_in_time_is_left_alone() {
    on_large_stacks(async {
        let site = Site::new();
        let server = site.start().await;
        site.machine.exit("step", Exit::Code(0));
        let build = server.run(&plan(timed(task("step"), "1h"))).await;
        let (status, log) = server.ended(build).await;
        assert_eq!(status, BuildStatus::Succeeded, "{log}");
        assert_eq!(site.machine.stopped(), Vec::<String>::new());
    });
}
