//! Workers that leave and come back while builds run.

use airside_scenarios::{
    Counter, Environment, Fly, Server,
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

/// Asks the server as fly would; the stand-in for fly knows nothing of workers.
fn api(server: &Server, fly: &Fly, method: &str, path: &str, body: &str) -> String {
    let authorization = fly.authorization();
    let headers = [("Authorization", authorization.as_str())];
    let (status, answer) = server.http(method, path, &headers, body);
    assert_eq!(status, 200, "{method} {path}: {answer}");
    answer
}

fn state(server: &Server, fly: &Fly) -> Option<String> {
    let listed = api(server, fly, "GET", "/api/v1/workers", "");
    let workers: Vec<serde_json::Value> = serde_json::from_str(&listed).expect("it is JSON");
    let state = workers.first()?["state"].as_str()?;
    Some(state.to_owned())
}

fn land(server: &Server, fly: &Fly) {
    api(server, fly, "PUT", "/api/v1/workers/local/land", "");
}

fn bring_back(server: &Server, fly: &Fly) {
    let body = r#"{"name": "local"}"#;
    api(server, fly, "POST", "/api/v1/workers", body);
}

#[test]
fn a_landing_worker_finishes_what_runs_and_the_rest_waits_for_it() {
    let (mut server, fly, counter) = scene();
    counter.hold("one");
    let build = fly.trigger("p/job");
    counter.wait("one", 1);
    land(&server, &fly);
    assert_eq!(state(&server, &fly).as_deref(), Some("landing"));

    // What was asked for survives the server, as long as the step does.
    server.kill_9();
    server.restart();
    assert_eq!(state(&server, &fly).as_deref(), Some("landing"));

    counter.release("one");
    fly.wait_for_text(build.id, AWAY);
    wait_until("the worker has landed", || {
        state(&server, &fly).as_deref() == Some("landed")
    });
    fly.wait_for_text(build.id, "waiting: worker local is land");
    assert_eq!(counter.count("two"), 0, "nothing new was put there");

    bring_back(&server, &fly);
    fly.watch(build.id).succeeded();
    assert_eq!(state(&server, &fly).as_deref(), Some("running"));
    assert_eq!([counter.count("one"), counter.count("two")], [1, 1]);
}

#[test]
fn a_landing_worker_does_not_wait_for_an_interruptible_job() {
    let server = Server::start();
    let (fly, counter) = (server.fly(), Counter::start());
    let plan = job(&[task("one", "", &counter.bump("one"))]);
    fly.pipeline(
        "p",
        &plan.replace("  plan:", "  interruptible: true\n  plan:"),
    );
    counter.hold("one");
    let build = fly.trigger("p/job");
    counter.wait("one", 1);
    land(&server, &fly);
    wait_until("the worker has landed", || {
        state(&server, &fly).as_deref() == Some("landed")
    });
    // Its step is where it was.
    counter.release("one");
    fly.watch(build.id).succeeded();
    assert_eq!(counter.count("one"), 1);
}

#[test]
fn a_landed_worker_is_back_when_the_server_starts_again() {
    let (mut server, fly, counter) = scene();
    land(&server, &fly);
    assert_eq!(state(&server, &fly).as_deref(), Some("landed"));
    let build = fly.trigger("p/job");
    fly.wait_for_text(build.id, "waiting: worker local is landed");
    server.stop();
    server.restart();
    assert_eq!(state(&server, &fly).as_deref(), Some("running"));
    fly.watch(build.id).succeeded();
    assert_eq!([counter.count("one"), counter.count("two")], [1, 1]);
}

#[test]
fn a_retired_worker_is_gone_once_it_is_done() {
    let (server, fly, counter) = scene();
    counter.hold("one");
    let build = fly.trigger("p/job");
    counter.wait("one", 1);
    let path = "/api/v1/workers/local/retire";
    api(&server, &fly, "PUT", path, "");
    assert_eq!(state(&server, &fly).as_deref(), Some("retiring"));
    counter.release("one");
    // There is no worker any more that the second step could wait for.
    let watched = fly.watch(build.id).ended_with(2);
    assert!(
        watched.stdout.contains("no workers satisfying"),
        "{watched:?}"
    );
    assert_eq!(state(&server, &fly), None);
    assert_eq!([counter.count("one"), counter.count("two")], [1, 0]);
}

#[test]
fn a_build_that_waits_for_a_worker_can_be_aborted() {
    let (server, fly, counter) = scene();
    land(&server, &fly);
    let build = fly.trigger("p/job");
    fly.wait_for_text(build.id, AWAY);
    let id = build.id.to_string();
    fly.run(&["abort-build", "-b", &id]).succeeded();
    fly.watch(build.id).ended_with(3);
    assert_eq!(counter.count("one"), 0);
}

#[test]
fn resources_are_checked_again_when_the_worker_is_back() {
    if !Environment::get().real_fly_or_skip() {
        return;
    }
    let server = Server::start();
    let fly = server.fly();
    let source = "- {name: r, type: mock, check_every: 1s, source: {initial_version: v1}}";
    let plan = "  - {get: r, trigger: true}\n".to_owned();
    land(&server, &fly);
    fly.pipeline("p", &format!("resources:\n{source}\n{}", job(&[plan])));
    let asked = fly.spawn(&["check-resource", "-r", "p/r"]);
    wait_until("the check waits", || asked.stdout().contains(AWAY));
    bring_back(&server, &fly);
    asked.wait().succeeded();
    wait_until("the job ran by itself", || {
        let builds = fly.builds();
        builds.iter().any(|build| build.status == "succeeded")
    });
}
