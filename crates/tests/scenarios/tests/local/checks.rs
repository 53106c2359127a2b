//! Checks that people ask for and checks that happen by themselves, of native types.

use airside_scenarios::{Fly, Server, ServerOptions, wait_until};
use serde_json::Value;

const PIPELINE: &str = r#"
resources:
- {name: well, type: mock, source: {initial_version: first, log: a word}}
- {name: hook, type: mock, source: {initial_version: first}, webhook_token: s3cret, check_every: never}
- {name: failing, type: mock, source: {check_failure: super broken}, check_every: never}
- {name: slow, type: mock, source: {check_delay: 1h}, check_timeout: 1s, check_every: never}
- {name: unknown, type: nonsense, check_every: never}

jobs:
- name: all
  plan:
  - in_parallel:
    - {get: hook}
    - {get: failing}
    - {get: slow}
    - {get: unknown}
    - {get: well}
"#;

fn resource(fly: &Fly, name: &str) -> Value {
    let path = format!("/api/v1/teams/main/pipelines/p/resources/{name}");
    let found = fly.run(&["curl", &path]).succeeded();
    serde_json::from_str(&found.stdout).unwrap()
}

/// The last line says how the build ended.
fn check(fly: &Fly, name: &str, more: &[&str], code: i32) -> String {
    let resource = format!("p/{name}");
    let args = [&["check-resource", "-r", &resource], more].concat();
    fly.run(&args).ended_with(code).lines().join("\n")
}

#[test]
fn people_see_what_a_check_did() {
    let server = Server::start();
    let fly = server.fly();
    fly.pipeline("p", PIPELINE);

    let text = check(&fly, "hook", &[], 0);
    for words in [
        "initializing check: hook",
        "selected worker: local",
        "succeeded",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let shown = resource(&fly, "hook");
    assert_eq!(shown["build"]["status"], "succeeded", "{shown}");
    assert_eq!(shown["build"]["name"], "check", "{shown}");
    assert!(shown["last_checked"].as_i64().unwrap() > 0, "{shown}");

    let text = check(&fly, "failing", &[], 1);
    assert!(text.contains("super broken"), "{text}");
    assert!(text.ends_with("failed"), "{text}");
    assert_eq!(resource(&fly, "failing")["build"]["status"], "failed");

    let text = check(&fly, "slow", &[], 1);
    assert!(text.contains("timeout exceeded"), "{text}");
    assert!(text.ends_with("failed"), "{text}");

    let text = check(&fly, "unknown", &[], 2);
    assert!(text.contains("nonsense"), "{text}");

    let text = check(&fly, "hook", &["--from", "version:other", "--shallow"], 0);
    assert!(text.ends_with("succeeded"), "{text}");
    let missing = fly
        .run(&["check-resource", "-r", "p/nothing"])
        .ended_with(1);
    assert!(missing.stderr.contains("not found"), "{missing:?}");
}

#[test]
fn resources_are_checked_by_themselves() {
    let server = ServerOptions::new()
        .args(["--resource-checking-interval", "1s"])
        .start();
    let fly = server.fly();
    let config = PIPELINE.replace("    - {get: well}", "    - {get: well, trigger: true}");
    fly.set_pipeline("p", &config).succeeded();
    // A paused pipeline is left alone.
    assert_eq!(resource(&fly, "well")["last_checked"], Value::Null);
    fly.run(&["unpause-pipeline", "-p", "p"]).succeeded();
    let last = || resource(&fly, "well")["last_checked"].as_i64();
    wait_until("a first check", || last().is_some());
    let first = last();
    wait_until("another check", || last() > first);
    // A failing one says so by itself, unless it is never checked.
    assert_eq!(resource(&fly, "failing")["build"], Value::Null);
    let failing = config.replace(
        "{check_failure: super broken}, check_every: never",
        "{check_failure: super broken}",
    );
    fly.set_pipeline("p", &failing).succeeded();
    wait_until("the failing check", || {
        resource(&fly, "failing")["build"]["status"] == "failed"
    });
    let build = resource(&fly, "failing")["build"]["id"].to_string();
    let watched = fly.run(&["watch", "-b", &build]).ended_with(1);
    assert!(watched.stdout.contains("super broken"), "{watched:?}");
}

#[test]
fn a_webhook_checks_for_whoever_knows_the_token() {
    let server = Server::start();
    let fly = server.fly();
    fly.pipeline("p", PIPELINE);
    let post = |name: &str, query: &str| {
        let path = format!("/api/v1/teams/main/pipelines/p/resources/{name}/check/webhook{query}");
        server.http("POST", &path, &[], "{\"ref\": \"refs/heads/evil\"}")
    };
    let (status, body) = post("hook", "?webhook_token=s3cret");
    assert_eq!(status, 201, "{body}");
    let build: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(build["resource_name"], "hook", "{build}");
    assert_eq!(build["name"], "check", "{build}");
    fly.watch(build["id"].as_i64().unwrap()).succeeded();
    assert_eq!(post("hook", "?webhook_token=wrong").0, 401);
    assert_eq!(post("hook", "").0, 401);
    assert_eq!(post("failing", "?webhook_token=x").0, 401);
    assert_eq!(post("nothing", "?webhook_token=s3cret").0, 401);
}

#[test]
fn a_webhook_about_another_branch_checks_nothing() {
    let server = Server::start();
    let fly = server.fly();
    let git = "resources:\n- {name: code, type: git, webhook_token: s3cret, check_every: never, \
        source: {uri: 'https://127.0.0.1:1/x', branch: main}}\n\
        jobs: [{name: j, plan: [{get: code}]}]\n";
    fly.pipeline("p", git);
    let post = |body: &str| {
        let path = "/api/v1/teams/main/pipelines/p/resources/code/check/webhook";
        server.http("POST", &format!("{path}?webhook_token=s3cret"), &[], body)
    };
    let (status, body) = post("{\"ref\": \"refs/heads/other\"}");
    assert_eq!(status, 200, "{body}");
    assert!(body.contains("follows main"), "{body}");
    assert_eq!(resource(&fly, "code")["build"], Value::Null);
    for payload in [
        "{\"ref\": \"refs/heads/main\"}",
        "no JSON",
        &"x".repeat(2 << 20),
    ] {
        let (status, body) = post(payload);
        assert_eq!(status, 201, "{body}");
    }
}

#[test]
fn times_of_checks_outlive_the_server_and_its_checkers_do_not() {
    let mut server = Server::start();
    let fly = server.fly();
    fly.pipeline("p", PIPELINE);
    check(&fly, "hook", &[], 0);
    let last = resource(&fly, "hook")["last_checked"].clone();
    let checkers = checkers(&server);
    assert_eq!(checkers.len(), 1);
    server.kill_9();
    let is_there = |id: &u32| std::fs::exists(format!("/proc/{id}")).unwrap();
    wait_until("the checker ends", || !checkers.iter().any(is_there));
    server.restart();
    assert_eq!(resource(&fly, "hook")["last_checked"], last);
    let text = check(&fly, "hook", &[], 0);
    assert!(text.ends_with("succeeded"), "{text}");
}

/// Processes that this server started to check.
fn checkers(server: &Server) -> Vec<u32> {
    let data = server.data().display().to_string();
    let line = |id: u32| std::fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let ids: Vec<u32> = processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    let own = ids.iter().find(|id| line(**id).contains(&data)).unwrap();
    let parent = format!("PPid:\t{own}\n");
    let is_checker = |id: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        status.contains(&parent) && line(*id).contains("airside-checker-")
    };
    ids.iter().copied().filter(is_checker).collect()
}
