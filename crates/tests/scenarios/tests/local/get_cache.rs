//! A get does not fetch again, unless the fetched files may have changed.

use airside_scenarios::{Environment, Fly, Server, ServerOptions, mock_image};

const FOUND: &str = "INFO: found existing resource cache";

const PIPELINE: &str = r#"
resources:
- name: thing
  type: mock
  source: {force_version: v1, create_files: {text: the text}, metadata: [{name: kind, value: good}]}
- {name: pushed, type: mock, source: {}}

jobs:
- name: first
  plan: &plan
  - get: thing
  - task: show
    config:
      platform: linux
      image_resource: {type: host, source: {}}
      inputs: [{name: thing}]
      params: {KIND: ((.:thing.kind))}
      run: {path: sh, args: [-c, 'echo $KIND: $(cat thing/text); echo changed >thing/text']}
- {name: second, plan: *plan}
- name: others
  plan:
  - {get: thing, params: {create_files_via_params: {more: text}}}
- name: failing
  plan:
  - get: thing
  - {put: pushed, inputs: all, params: {version: p1}}
  - {put: bare, resource: pushed, inputs: [], params: {version: p1}}
  - task: fail
    config:
      platform: linux
      image_resource: {type: host, source: {}}
      run: {path: 'false'}
"#;

fn printed(fly: &Fly, job: &str) -> String {
    fly.trigger_and_watch(job).succeeded().lines().join("\n")
}

#[test]
fn the_same_is_fetched_once() {
    let server = Server::start();
    let fly = server.fly();
    fly.pipeline("p", PIPELINE);
    let text = printed(&fly, "p/first");
    assert!(text.contains("fetching version: v1"), "{text}");
    assert!(text.contains("good: the text"), "{text}");
    // Found by another job, with its metadata, and not as the first one's task left its own copy.
    for job in ["p/second", "p/first"] {
        let text = printed(&fly, job);
        assert!(text.contains(FOUND) && !text.contains("fetching"), "{text}");
        assert!(text.contains("version: v1"), "{text}");
        assert!(text.contains("good: the text"), "{text}");
    }
    // Until a user clears the cache.
    let clear = |version: &str| {
        let body = format!("{{\"version\": {{\"version\": \"{version}\"}}}}");
        let path = "/api/v1/teams/main/pipelines/p/resources/thing/cache";
        let args = ["curl", path, "--", "-X", "DELETE", "-d", &body];
        fly.run(&args).succeeded().stdout
    };
    assert_eq!(clear("v0").trim(), "{\"caches_removed\":0}");
    assert_eq!(clear("v1").trim(), "{\"caches_removed\":1}");
    let text = printed(&fly, "p/second");
    assert!(text.contains("fetching version: v1"), "{text}");
    // Other params are another thing.
    let text = printed(&fly, "p/others");
    assert!(text.contains("fetching version: v1"), "{text}");
}

#[test]
fn containers_of_mock_can_be_looked_into_and_then_are_no_cache() {
    if !Environment::get().real_fly_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let image = mock_image(folder.path());
    let server = ServerOptions::new().args(["--mock-image", &image]).start();
    let fly = server.fly();
    fly.pipeline("p", PIPELINE);
    fly.trigger_and_watch("p/failing").ended_with(1);
    let intercept = |step: &str, kind: &str, script: &str| {
        let what = ["-j", "p/failing", "-s", step, "--step-type", kind];
        let args = [&["intercept"], &what[..], &["--", "sh", "-c", script]].concat();
        fly.run(&args).succeeded().stdout
    };
    assert_eq!(
        intercept("pushed", "put", "pwd; ls"),
        "/tmp/build/put\nthing\n"
    );
    assert_eq!(intercept("bare", "put", "pwd; ls"), "/tmp/build/put\n");
    // No step has changed the fetched files so far.
    let text = printed(&fly, "p/first");
    assert!(text.contains(FOUND), "{text}");
    intercept("thing", "get", "echo evil >text");
    let text = printed(&fly, "p/first");
    assert!(text.contains("fetching version: v1"), "{text}");
    assert!(text.contains("good: the text"), "{text}");

    // A pipeline that is gone leaves nothing to be found.
    fly.run(&["destroy-pipeline", "-n", "-p", "p"]).succeeded();
    fly.pipeline("p", PIPELINE);
    let text = printed(&fly, "p/first");
    assert!(text.contains("fetching version: v1"), "{text}");
}
