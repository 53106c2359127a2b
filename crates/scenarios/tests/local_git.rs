//! Steps of type `git` find the git program.

use airside_scenarios::Server;

const PIPELINE: &str = r#"
resources:
- {name: code, type: git, source: {uri: "http://127.0.0.1:1/none.git", branch: main}}

jobs:
- name: get
  plan:
  - get: code
    version: {ref: 0123456789abcdef0123456789abcdef01234567}
"#;

/// A step has a network of its own, so there is nobody at its loopback; that git says so is what counts.
#[test]
fn a_get_runs_the_machines_git() {
    let server = Server::start();
    let fly = server.fly();
    fly.pipeline("p", PIPELINE);
    let output = fly.trigger_and_watch("p/get").ended_with(1);
    let text = output.lines().join("\n");
    assert!(
        text.contains("git clone failed for http://127.0.0.1:1/none.git"),
        "{text}"
    );
    assert!(text.contains("Cloning into '/tmp/build/get'"), "{text}");
}
