//! Checks of a type with an image: one container for many of them, which people can look into.

use airside_scenarios::{Environment, Fly, Registry, Server, type_layout, wait_until};
use serde_json::Value;

/// Says how often it ran in this container.
const CHECK: &str = r#"#!/bin/sh
request=$(cat)
count=$(( $(cat /count 2>/dev/null || echo 0) + 1 ))
echo $count >/count
echo "run $count" >&2
case $request in
  *hang*) sleep 3600 ;;
  *fail*) exit 1 ;;
  *loud*) head -c 100000000 /dev/zero | tr '\0' x | fold -w 1000 >&2 ;;
  *wide*) head -c 100000000 /dev/zero | tr '\0' x ;;
esac
echo "[{\"v\": \"$count\"}]"
"#;

fn pipeline(repository: &str) -> String {
    let resources: String = ["a", "b", "fail", "hang", "hang-long", "loud", "wide"]
        .iter()
        .map(|name| {
            format!(
                "- {{name: {name}, type: counting, source: {{mode: {name}}}, check_every: never, \
                 check_timeout: {}}}\n",
                if *name == "hang" { "15s" } else { "5m" }
            )
        })
        .collect();
    format!(
        "resource_types:\n- {{name: counting, type: registry-image, source: {{repository: '{repository}'}}}}\n\
         resources:\n{resources}\
         jobs: [{{name: j, plan: [{{get: a}}, {{get: b}}, {{get: fail}}, {{get: hang}}, {{get: hang-long}}, {{get: loud}}, {{get: wide}}]}}]\n"
    )
}

fn check(fly: &Fly, name: &str, code: i32) -> String {
    let resource = format!("p/{name}");
    let ended = fly.run(&["check-resource", "-r", &resource]);
    ended.ended_with(code).lines().join("\n")
}

fn containers(fly: &Fly) -> Vec<Value> {
    let found = fly.run(&["curl", "/api/v1/teams/main/containers?type=check"]);
    serde_json::from_str(&found.succeeded().stdout).unwrap()
}

/// A server with the pipeline set, and the registry that has its type's image.
struct Place {
    server: Server,
    _registry: Registry,
    _folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let registry = Registry::start(&type_layout(folder.path(), CHECK), &[]);
        let server = Server::start();
        server
            .fly()
            .pipeline("p", &pipeline(&registry.repository()));
        Self {
            server,
            _registry: registry,
            _folder: folder,
        }
    }
}

#[test]
fn checks_of_a_type_share_a_container() {
    let place = Place::new();
    let fly = place.server.fly();
    for (name, code, words) in [
        ("a", 0, "run 1"),
        ("a", 0, "run 2"),
        ("b", 0, "run 3"),
        ("fail", 1, "run 4"),
        ("hang", 1, "timeout exceeded"),
        ("b", 0, "run 6"),
    ] {
        let text = check(&fly, name, code);
        assert!(text.contains(words), "{name}: {text}");
        assert!(text.contains("selected worker: local"), "{name}: {text}");
    }
    let found = containers(&fly);
    assert_eq!(found.len(), 1, "{found:?}");
    if !Environment::get().real_fly_or_skip() {
        return;
    }
    // Whichever resource of the type one asks for.
    for name in ["a", "b"] {
        let resource = format!("p/{name}");
        let looked = fly.run(&["intercept", "-c", &resource, "cat", "/count"]);
        assert_eq!(looked.succeeded().stdout.trim(), "6", "{name}");
    }
}

#[test]
fn checks_that_begin_together_wait_for_one_container() {
    let place = Place::new();
    let fly = place.server.fly();
    // The first one hangs: the container is there for the others all the same.
    let hanging = fly.spawn(&["check-resource", "-r", "p/hang-long"]);
    let others = ["a", "b", "fail"].map(|name| {
        let resource = format!("p/{name}");
        (name, fly.spawn(&["check-resource", "-r", &resource]))
    });
    for (name, check) in others {
        let ended = check.wait();
        let code = i32::from(name == "fail");
        assert!(ended.ended_with(code).stdout.contains("run "), "{name}");
    }
    let found = containers(&fly);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(!hanging.stdout().contains("succeeded"));
    hanging.kill();
}

#[test]
fn what_a_check_prints_has_an_end() {
    let place = Place::new();
    let fly = place.server.fly();
    assert!(check(&fly, "a", 0).contains("run 1"));
    let text = check(&fly, "loud", 0);
    assert!(
        text.contains("xxx") && text.len() < 2 << 20,
        "{} bytes",
        text.len()
    );
    let text = check(&fly, "wide", 2);
    assert!(text.contains("larger than"), "{text}");
    assert!(check(&fly, "b", 0).contains("run 4"));
}

#[test]
fn a_container_that_is_gone_is_replaced() {
    let mut place = Place::new();
    let fly = place.server.fly();
    assert!(check(&fly, "a", 0).contains("run 1"));
    assert!(check(&fly, "a", 0).contains("run 2"));
    // Another server does not know it, and makes its own.
    place.server.kill_9();
    place.server.restart();
    assert!(check(&fly, "a", 0).contains("run 1"));
    assert!(check(&fly, "b", 0).contains("run 2"));
    // With its pipeline all of it goes.
    fly.run(&["destroy-pipeline", "-n", "-p", "p"]).succeeded();
    wait_until("the containers are gone", || containers(&fly).is_empty());
}
