//! Workers that leave and come back while builds run.

use airside_scenarios::{
    Counter, Database, Fly, Server, ServerOptions,
    pipelines::{job, task},
    wait_until,
};

const AWAY: &str = "no suitable workers found, waiting for worker...";

/// A server, and a pipeline whose two steps count under `one` and `two`.
fn scene() -> (Server, Fly, Counter) {
    let server = Server::start();
    let (fly, counter) = (server.fly(), Counter::start());
    let plan = ["one", "two"].map(|name| task(name, "", &counter.bump(name)));
    fly.pipeline("p", &job(&plan));
    (server, fly, counter)
}

fn state(fly: &Fly) -> Option<String> {
    let listed = fly.run(&["workers", "--json"]).succeeded();
    let workers: Vec<serde_json::Value> = serde_json::from_str(&listed.stdout).unwrap();
    let state = workers.first()?["state"].as_str()?;
    Some(state.to_owned())
}

fn api(fly: &Fly, method: &str, path: &str, body: &str) {
    let args = [
        "curl", path, "--", "-sS", "--fail", "-X", method, "-d", body,
    ];
    fly.run(&args).succeeded();
}

#[test]
fn a_landing_worker_finishes_what_runs_and_the_rest_waits_for_it() {
    let (mut server, fly, counter) = scene();
    counter.hold("one");
    let build = fly.trigger("p/job");
    counter.wait("one", 1);
    fly.run(&["land-worker", "-w", "local"]).succeeded();
    assert_eq!(state(&fly).as_deref(), Some("landing"));

    // What was asked for survives the server, as long as the step does.
    server.kill_9();
    server.restart();
    assert_eq!(state(&fly).as_deref(), Some("landing"));

    counter.release("one");
    fly.wait_for_text(build.id, AWAY);
    wait_until("the worker has landed", || {
        state(&fly).as_deref() == Some("landed")
    });
    fly.wait_for_text(build.id, "waiting: worker local is land");
    assert_eq!(counter.count("two"), 0, "nothing new was put there");

    api(&fly, "POST", "/api/v1/workers", r#"{"name": "local"}"#);
    fly.watch(build.id).succeeded();
    assert_eq!(state(&fly).as_deref(), Some("running"));
    assert_eq!([counter.count("one"), counter.count("two")], [1, 1]);
}

#[test]
fn a_landed_worker_is_back_when_the_server_starts_again() {
    let (mut server, fly, counter) = scene();
    fly.run(&["land-worker", "-w", "local"]).succeeded();
    assert_eq!(state(&fly).as_deref(), Some("landed"));
    let build = fly.trigger("p/job");
    fly.wait_for_text(build.id, "waiting: worker local is landed");
    server.stop();
    server.restart();
    assert_eq!(state(&fly).as_deref(), Some("running"));
    fly.watch(build.id).succeeded();
    assert_eq!([counter.count("one"), counter.count("two")], [1, 1]);
}

#[test]
fn a_retired_worker_is_gone_once_it_is_done() {
    let (_server, fly, counter) = scene();
    counter.hold("one");
    let build = fly.trigger("p/job");
    counter.wait("one", 1);
    api(&fly, "PUT", "/api/v1/workers/local/retire", "");
    assert_eq!(state(&fly).as_deref(), Some("retiring"));
    counter.release("one");
    // There is no worker any more that the second step could wait for.
    let watched = fly.watch(build.id).ended_with(2);
    assert!(
        watched.stdout.contains("no workers satisfying"),
        "{watched:?}"
    );
    assert_eq!(state(&fly), None);
    assert_eq!([counter.count("one"), counter.count("two")], [1, 0]);
}

#[test]
fn a_build_that_waits_for_a_worker_can_be_aborted() {
    let (_server, fly, counter) = scene();
    fly.run(&["land-worker", "-w", "local"]).succeeded();
    let build = fly.trigger("p/job");
    fly.wait_for_text(build.id, AWAY);
    let id = build.id.to_string();
    fly.run(&["abort-build", "-b", &id]).succeeded();
    fly.watch(build.id).ended_with(3);
    assert_eq!(counter.count("one"), 0);
}

#[test]
fn resources_are_checked_again_when_the_worker_is_back() {
    let server = Database::Sqlite.server(ServerOptions::new());
    let fly = server.fly();
    let source = "- {name: r, type: mock, check_every: 1s, source: {initial_version: v1}}";
    let plan = "  - {get: r, trigger: true}\n".to_owned();
    fly.run(&["land-worker", "-w", "local"]).succeeded();
    fly.pipeline("p", &format!("resources:\n{source}\n{}", job(&[plan])));
    let asked = fly.spawn(&["check-resource", "-r", "p/r"]);
    wait_until("the check waits", || asked.stdout().contains(AWAY));
    api(&fly, "POST", "/api/v1/workers", r#"{"name": "local"}"#);
    asked.wait().succeeded();
    wait_until("the job ran by itself", || {
        let builds = fly.builds();
        builds.iter().any(|build| build.status == "succeeded")
    });
}
