//! Resources that change under builds or fail by the thousand.

use std::fmt::Write as _;

use airside_scenarios::{Counter, Fly, Server, ServerOptions, wait_until};
use serde_json::Value;

fn ask(fly: &Fly, path: &str) -> Value {
    let found = fly.run(&["curl", &format!("/api/v1/teams/main/pipelines/p/{path}")]);
    serde_json::from_str(&found.succeeded().stdout).unwrap()
}

fn pipeline(version: &str, counter: &Counter) -> String {
    format!(
        "resources: [{{name: r, type: mock, source: {{force_version: {version}}}, check_every: never}}]\n\
         jobs:\n- name: j\n  plan:\n  - {{get: r}}\n  - task: hold\n    config:\n      platform: linux\n      \
         image_resource: {{type: host}}\n      inputs: [{{name: r}}]\n      \
         run: {{path: bash, args: [-c, '{}; cat r/version']}}\n",
        counter.bump("held")
    )
}

#[test]
fn a_source_that_changes_under_a_build_is_the_next_ones() {
    let counter = Counter::start();
    let server = Server::start();
    let fly = server.fly();
    fly.pipeline("p", &pipeline("before", &counter));
    counter.hold("held");
    let running = fly.trigger("p/j");
    counter.wait("held", 1);
    fly.set_pipeline("p", &pipeline("after", &counter))
        .succeeded();
    // A history that begins anew, while a build still works with the old one.
    fly.run(&["check-resource", "-r", "p/r"]).succeeded();
    let versions = ask(&fly, "resources/r/versions");
    assert_eq!(versions.as_array().unwrap().len(), 1, "{versions}");
    assert_eq!(versions[0]["version"]["version"], "after", "{versions}");
    counter.release("held");
    let output = fly.watch(running.id).succeeded();
    assert!(output.stdout.contains("before"), "{output:?}");
    let next = fly.trigger_and_watch("p/j").succeeded();
    assert!(next.stdout.contains("after"), "{next:?}");
}

#[test]
fn a_thousand_failing_resources_do_not_slow_the_others() {
    let server = ServerOptions::new()
        .args(["--resource-checking-interval", "1s"])
        .start();
    let fly = server.fly();
    let mut config =
        "resources:\n- {name: well, type: mock, source: {initial_version: first}}\n".to_owned();
    let mut gets =
        "jobs:\n- name: j\n  plan:\n  - in_parallel:\n    - {get: well, trigger: true}\n"
            .to_owned();
    for number in 0..1000 {
        let fault = match number % 2 {
            0 => "check_failure: broken",
            _ => "check_delay: 1h",
        };
        writeln!(
            config,
            "- {{name: r{number}, type: mock, source: {{{fault}}}, check_timeout: 2s}}"
        )
        .unwrap();
        writeln!(gets, "    - {{get: r{number}, trigger: true}}").unwrap();
    }
    config += &gets;
    fly.pipeline("p", &config);
    let last = |name: &str| ask(&fly, &format!("resources/{name}"))["last_checked"].as_i64();
    wait_until("the first failure", || {
        ask(&fly, "resources/r0")["build"]["status"] == "failed"
    });
    for _ in 0..3 {
        let before = last("well");
        wait_until("another check of the one that is well", || {
            last("well") > before
        });
    }
    // One that keeps failing says how often, and when it is tried again.
    let said = || {
        let build = ask(&fly, "resources/r0")["build"]["id"].to_string();
        fly.run(&["watch", "-b", &build]).ended_with(1).stdout
    };
    wait_until("it says that it backs off", || {
        said().contains("times in a row; the next is in")
    });
}
