//! A build's whole life can be read from the server's log: one line for every state of a container
//! and every decision about it, each with build, step, worker and handle.

use std::collections::BTreeMap;

use airside_scenarios::{
    Counter, Server, ServerOptions,
    plans::{pipeline, task},
    wait_until,
};
use serde_json::{Value, json};

/// A line of the log.
struct Line {
    level: String,
    fields: Value,
}

impl Line {
    fn get(&self, field: &str) -> &str {
        self.fields[field].as_str().unwrap_or_default()
    }
}

fn logging() -> ServerOptions {
    ServerOptions::new().args(["--log-format", "json", "--keep-failed", "0s"])
}

fn lines(server: &Server) -> Vec<Line> {
    let log = server.log();
    let parsed = log
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    parsed
        .map(|line: Value| Line {
            level: line["level"].as_str().unwrap_or_default().to_owned(),
            fields: line["fields"].clone(),
        })
        .collect()
}

/// Returns the log lines of each container of a build, in order. Each line has all four names,
/// which agree.
fn lives(lines: &[Line], build: &str) -> BTreeMap<String, Vec<String>> {
    let mut lives: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut names: BTreeMap<String, Value> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.get("build") == build) {
        let handle = line.get("handle");
        if handle.is_empty() {
            continue;
        }
        let whose = json!([line.get("step"), line.get("worker")]);
        assert!(!line.get("step").is_empty(), "{}", line.fields);
        assert_eq!(line.get("worker"), "local", "{}", line.fields);
        assert_eq!(
            *names
                .entry(handle.to_owned())
                .or_insert_with(|| whose.clone()),
            whose
        );
        let life = lives.entry(handle.to_owned()).or_default();
        life.push(line.get("message").to_owned());
    }
    lives
}

/// The life of a container whose step ends by itself.
const LIFE: [&str; 8] = [
    "worker chosen",
    "container creating",
    "container created",
    "container claimed",
    "step started",
    "step ended",
    "container kept",
    "container destroying",
];

fn of_build<'a>(lines: &'a [Line], build: &str) -> Vec<&'a str> {
    let lines = lines.iter().filter(|line| line.get("build") == build);
    lines.map(|line| line.get("message")).collect()
}

fn wait_for_end(server: &Server, containers: usize) {
    wait_until("every container is gone", || {
        let lines = lines(server);
        let gone = lines
            .iter()
            .filter(|line| line.get("message") == "container gone");
        gone.count() >= containers
    });
}

#[test]
fn every_state_of_every_container_is_there() {
    let server = logging().start();
    let fly = server.fly();
    let src = json!([{"name": "src", "type": "mock", "source": {"force_version": "1"}}]);
    let plan = json!([{"get": "src"}, {"try": task("bad", "exit 1")}, {"put": "src", "params": {"version": "2"}}]);
    fly.pipeline("p", &pipeline(src, plan));
    fly.trigger_and_watch("p/job");
    assert_eq!(fly.status(1), "succeeded");
    // The get, the task, the put and the get behind it.
    wait_for_end(&server, 4);
    let lines = lines(&server);
    let lives = lives(&lines, "1");
    assert_eq!(lives.len(), 4);
    for (handle, life) in lives {
        let states: Vec<&str> = life
            .iter()
            .map(String::as_str)
            .filter(|message| *message != "kept container expired")
            .collect();
        let expected: Vec<&str> = LIFE.into_iter().chain(["container gone"]).collect();
        assert_eq!(sorted(&states), sorted(&expected), "{handle}: {life:?}");
        // A shim may claim before the runtime has said that it is there.
        let at = |message: &str| states.iter().position(|state| *state == message).unwrap();
        for pair in [[0, 1], [1, 2], [1, 3], [3, 4], [4, 5], [5, 6], [6, 7]] {
            let [before, after] = pair.map(|index| at(LIFE[index]));
            assert!(before < after, "{handle}: {life:?}");
        }
        assert_eq!(at("container gone"), states.len() - 1, "{handle}: {life:?}");
    }
    let all = of_build(&lines, "1");
    assert_eq!(all.first(), Some(&"build created"));
    assert!(all.contains(&"build finished"));
    let running = lines
        .iter()
        .any(|line| line.get("message") == "worker registered" && line.get("worker") == "local");
    assert!(running);
}

fn sorted<'a>(messages: &[&'a str]) -> Vec<&'a str> {
    let mut messages = messages.to_vec();
    messages.sort_unstable();
    messages
}

#[test]
fn calls_that_fail_are_there() {
    let server = logging().start();
    let fly = server.fly();
    let mut bad = task("bad", "true");
    bad["config"]["image_resource"] =
        json!({"type": "oci-layout", "source": {"path": "/no/such/image"}});
    fly.pipeline("p", &pipeline(json!([]), json!([bad])));
    fly.trigger_and_watch("p/job").ended_with(2);
    wait_for_end(&server, 1);
    let lines = lines(&server);
    let failed = lines
        .iter()
        .find(|line| line.level == "WARN" && line.get("build") == "1")
        .unwrap();
    assert_eq!(failed.get("message"), "container refused by the runtime");
    assert!(
        failed.get("error").contains("/no/such/image"),
        "{}",
        failed.fields
    );
    assert_eq!(lives(&lines, "1").len(), 1);
}

/// Containers without an owner after a restart, and the sweeper's decisions about them.
#[test]
fn decisions_of_the_sweeper_are_there() {
    let (mut server, counter) = (logging().start(), Counter::start());
    let fly = server.fly();
    counter.hold("work");
    fly.pipeline(
        "p",
        &pipeline(json!([]), json!([task("work", &counter.bump("work"))])),
    );
    fly.trigger("p/job");
    counter.wait("work", 1);
    // With its pipeline goes the build, and all that is known of its container.
    let who = fly.authorization();
    let path = "/api/v1/teams/main/pipelines/p";
    let (status, _) = server.http("DELETE", path, &[("Authorization", &who)], "");
    assert_eq!(status, 204);
    server.kill_9();
    server.restart();
    let decision = "container without a right to live destroyed by the sweeper";
    wait_until("the sweeper comes across it", || {
        lines(&server)
            .iter()
            .any(|line| line.get("message") == decision)
    });
    wait_for_end(&server, 1);
    let lines = lines(&server);
    let decided = lines
        .iter()
        .find(|line| line.get("message") == decision)
        .unwrap();
    assert_eq!(decided.get("worker"), "local");
    let gone = lines
        .iter()
        .find(|line| line.get("message") == "container gone")
        .unwrap();
    assert_eq!(gone.get("handle"), decided.get("handle"));
}
