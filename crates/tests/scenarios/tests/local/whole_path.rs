//! The way from login to the list of builds with the real fly, and everything it prints on the way.

use airside_scenarios::Server;

const PIPELINE: &str = r#"
resources:
- name: src
  type: mock
  source: {force_version: v1, create_files: {greeting: "hello from the get\n"}, log: looking}
- name: out
  type: mock
  source: {initial_version: none}

jobs:
- name: build
  plan:
  - get: src
  - task: shout
    config:
      platform: linux
      image_resource: {type: host, source: {}}
      inputs: [{name: src}]
      outputs: [{name: made}]
      params: {TONE: LOUD}
      run:
        path: bash
        args: [-c, 'tr a-z A-Z < src/greeting; echo "tone $TONE" >&2; echo v2 > made/version']
  - put: out
    params: {file: made/version}
"#;

const PRINTED: &str = "\
selected worker: local
looking
fetching version: v1
initializing
selected worker: local
running bash -c tr a-z A-Z < src/greeting; echo \"tone $TONE\" >&2; echo v2 > made/version
HELLO FROM THE GET
tone LOUD
selected worker: local
pushing version: v2

selected worker: local
fetching version: v2

succeeded";

#[test]
fn login_set_unpause_trigger_builds() {
    let server = Server::start();
    let fly = server.fly();
    let set = fly.set_pipeline("demo", PIPELINE).succeeded();
    assert!(set.stdout.contains("pipeline created!"), "{set:?}");
    let unpaused = fly.run(&["unpause-pipeline", "-p", "demo"]).succeeded();
    assert_eq!(unpaused.stdout, "unpaused 'demo'\n");

    let triggered = fly.trigger_and_watch("demo/build").succeeded();
    let lines = triggered.lines();
    assert_eq!(lines[..2], ["started demo/build #1", ""]);
    assert_eq!(lines[2..].join("\n"), PRINTED);
    assert_eq!(fly.watch(1).succeeded().lines().join("\n"), PRINTED);

    let builds = fly.run(&["builds"]).succeeded().stdout;
    let row: Vec<&str> = builds.split_whitespace().collect();
    assert_eq!(row[..3], ["1", "demo/build/1", "succeeded"], "{builds}");
    assert_eq!(row[row.len() - 2..], ["main", "test"], "{builds}");
}

#[test]
fn triggering_a_paused_job_waits_for_it() {
    let server = Server::start();
    let fly = server.fly();
    fly.set_pipeline("demo", PIPELINE).succeeded();
    let watching = fly.spawn(&["trigger-job", "-j", "demo/build", "-w"]);
    airside_scenarios::wait_until("the build exists", || !fly.builds().is_empty());
    assert_eq!(fly.status(1), "pending");
    fly.run(&["unpause-pipeline", "-p", "demo"]).succeeded();
    watching.wait().succeeded();
    assert_eq!(fly.status(1), "succeeded");
}
