//! Aborting a build in each of its phases.

use airside_scenarios::{
    Counter, Fifo, Fly, Output, Server, ServerOptions,
    pipelines::{in_parallel, job, task},
    wait_until,
};

fn abort(fly: &Fly, build: i64) {
    fly.run(&["abort-build", "-b", &build.to_string()])
        .succeeded();
}

#[track_caller]
fn ended_as_aborted(fly: &Fly, build: i64) -> Output {
    let output = fly.watch(build).ended_with(3);
    assert_eq!(output.lines().last().map(String::as_str), Some("aborted"));
    assert_eq!(fly.status(build), "aborted");
    output
}

/// The signal goes to all of a task's processes, and bash tells what became of its children.
fn without_bash(output: Output) -> Vec<String> {
    output
        .lines()
        .into_iter()
        .filter(|line| line != "Terminated")
        .collect()
}

/// Starts a server that removes the containers of aborted builds at once, instead of keeping them
/// for intercepts.
fn keeping_nothing() -> Server {
    ServerOptions::new().args(["--keep-failed", "0"]).start()
}

/// Containers are taken away after the build has ended.
fn nothing_is_left(server: &Server) {
    let containers = server.data().join("runtime/containers");
    wait_until("no container is left", || {
        std::fs::read_dir(&containers).is_ok_and(|mut entries| entries.next().is_none())
    });
}

#[test]
fn while_pending() {
    let server = Server::start();
    let fly = server.fly();
    fly.set_pipeline("p", &job(&[task("work", "", "echo never")]))
        .succeeded();
    let build = fly.trigger("p/job");
    assert_eq!(build.status, "pending");
    abort(&fly, build.id);
    ended_as_aborted(&fly, build.id);
    fly.run(&["unpause-pipeline", "-p", "p"]).succeeded();
    let next = fly.trigger_and_watch("p/job").succeeded();
    assert!(next.stdout.contains("#2"), "{next:?}");
}

/// At once after the trigger the build is somewhere between its plan and its first process.
#[test]
fn while_starting() {
    let server = keeping_nothing();
    let fly = server.fly();
    let counter = Counter::start();
    counter.hold("work");
    fly.pipeline(
        "p",
        &job(&[
            task("work", "", &counter.bump("work")),
            task("after", "", "echo after"),
        ]),
    );
    for _ in 0..4 {
        let build = fly.trigger("p/job");
        abort(&fly, build.id);
        let output = ended_as_aborted(&fly, build.id);
        assert!(!output.stdout.contains("echo after"), "{output:?}");
    }
    nothing_is_left(&server);
}

#[test]
fn while_a_task_runs() {
    let server = keeping_nothing();
    let fly = server.fly();
    let script =
        "trap 'echo task got sigterm; exit 0' TERM\necho running\nwhile true; do sleep 0.05; done";
    fly.pipeline(
        "p",
        &job(&[task("work", "", script), task("after", "", "echo after")]),
    );
    let build = fly.trigger("p/job");
    fly.wait_for_text(build.id, "\nrunning");
    abort(&fly, build.id);
    let lines = without_bash(ended_as_aborted(&fly, build.id));
    assert_eq!(
        lines[lines.len() - 4..],
        ["running", "task got sigterm", "interrupted", "aborted"]
    );
    let path = format!("/api/v1/builds/{}/events", build.id);
    let (status, events) =
        server.http("GET", &path, &[("Authorization", &fly.authorization())], "");
    assert_eq!(status, 200);
    assert!(events.contains("start-task"), "{events}");
    assert!(!events.contains("finish-task"), "{events}");
    nothing_is_left(&server);
}

#[test]
fn while_a_task_that_ignores_it_runs() {
    let server = keeping_nothing();
    let fly = server.fly();
    let script = "trap 'echo not now' TERM\necho running\nwhile true; do sleep 0.05; done";
    fly.pipeline("p", &job(&[task("work", "", script)]));
    let build = fly.trigger("p/job");
    fly.wait_for_text(build.id, "\nrunning");
    abort(&fly, build.id);
    let lines = without_bash(ended_as_aborted(&fly, build.id));
    assert_eq!(
        lines[lines.len() - 4..],
        ["running", "not now", "interrupted", "aborted"]
    );
    nothing_is_left(&server);
}

#[test]
fn while_a_get_runs() {
    let server = keeping_nothing();
    let fly = server.fly();
    let resource = "resources:\n- {name: r, type: mock, source: {force_version: v1, create_files: {gate: text}}}\n";
    fly.pipeline(
        "p",
        &format!("{resource}{}", job(&["  - get: r\n".to_owned()])),
    );
    // Not waited for: the get must not be over before the gate is in its way.
    let _triggering = fly.spawn(&["trigger-job", "-j", "p/job"]);
    let _gate = Fifo::in_next_output(&server.data(), "gate");
    fly.wait_for_text(1, "fetching version: v1");
    abort(&fly, 1);
    let lines = ended_as_aborted(&fly, 1).lines();
    assert_eq!(lines[lines.len() - 2..], ["interrupted", "aborted"]);
    nothing_is_left(&server);
}

#[test]
fn between_two_steps_that_run_side_by_side() {
    let server = keeping_nothing();
    let fly = server.fly();
    let counter = Counter::start();
    let held = |name: &str| {
        counter.hold(name);
        task(name, "", &counter.bump(name))
    };
    fly.pipeline("p", &job(&[in_parallel("", &[held("one"), held("two")])]));
    let build = fly.trigger("p/job");
    counter.wait("one", 1);
    counter.wait("two", 1);
    abort(&fly, build.id);
    let output = ended_as_aborted(&fly, build.id);
    assert_eq!(
        output.stdout.matches("interrupted").count(),
        2,
        "{output:?}"
    );
    nothing_is_left(&server);
}

#[test]
fn after_the_end_nothing_changes() {
    let server = Server::start();
    let fly = server.fly();
    fly.pipeline("p", &job(&[task("work", "", "echo done")]));
    fly.trigger_and_watch("p/job").succeeded();
    let before = fly.watch(1).succeeded().stdout;
    abort(&fly, 1);
    assert_eq!(fly.status(1), "succeeded");
    assert_eq!(fly.watch(1).succeeded().stdout, before);
}
