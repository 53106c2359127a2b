//! Pods whose shim does more: images that are artifacts, resource types made from each other, and
//! steps without a network. All under the rights that Airside asks for. Needs a cluster: see `make
//! test-cluster`.

use crate::support::{Namespace, task};
use airside_scenarios::Environment;

/// Makes an image of the one that it runs in, with a mark.
const MAKE: &str = "mkdir -p image/rootfs/proc image/rootfs/tmp; chmod 1777 image/rootfs/tmp; \
    cp -a /bin /etc /sbin /usr image/rootfs/; \
    echo made >image/rootfs/etc/mark; \
    echo '{\"env\": [\"COLOUR=blue\"], \"user\": \"nobody\"}' >image/metadata.json";

fn built(script: &str) -> String {
    let script = serde_json::to_string(script).unwrap();
    format!(
        "jobs:\n- name: build\n  plan:\n{}  - task: work\n    image: image\n    tags: [pods]\n    config: {{platform: linux, \
         run: {{path: sh, args: [-c, {script}]}}}}\n",
        task("make", MAKE, "      outputs: [{name: image}]\n")
    )
}

#[test]
fn a_task_runs_in_what_the_one_before_it_made() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let server = namespace.server();
    let fly = server.fly();
    fly.pipeline("p", &built("cat /etc/mark; echo $COLOUR; id -un; exit 3"));
    let output = fly.trigger_and_watch("p/build").ended_with(3);
    let text = output.lines().join("\n");
    assert!(text.contains("\nmade\nblue\nnobody\n"), "{text}");

    fly.pipeline(
        "p",
        &built("echo running; until [ -e /tmp/go ]; do sleep 0.1; done; echo went"),
    );
    let build = fly.trigger("p/build");
    fly.wait_for_text(build.id, "\nrunning");
    if Environment::get().real_fly_or_skip() {
        let guest = ["intercept", "-j", "p/build", "-s", "work", "--"];
        let look = ["sh", "-c", "cat /etc/mark; touch /tmp/go"];
        let said = fly.run(&[&guest[..], &look].concat());
        assert_eq!(said.stdout, "made\n", "{said:?}");
        fly.wait_for_text(build.id, "\nwent");
    } else {
        fly.run(&["abort-build", "-b", &build.id.to_string()])
            .succeeded();
    }
    // A container that was intercepted stays for a while.
    namespace.kubectl(&["delete", "pods", "--all"]);
    namespace.wait_until_no_pods();
}

const TYPES: &str = r#"
resource_types:
- {name: outer, type: inner, tags: [pods], source: {mirror_self: true, initial_version: outer-1}}
- {name: inner, type: mock, tags: [pods], source: {mirror_self: true, initial_version: inner-1}}

resources:
- {name: thing, type: outer, tags: [pods], source: {create_files: {text: made by the outer type}}}

jobs:
- name: types
  plan:
  - get: thing
    tags: [pods]
  - put: thing
    tags: [pods]
    params: {version: pushed}
"#;

#[test]
fn types_are_made_from_types() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let server = namespace.server_with_args("", &["--mock-image", "airside.local/busybox:dev"]);
    let fly = server.fly();
    fly.pipeline("p", TYPES);
    let output = fly.trigger_and_watch("p/types").succeeded();
    let text = output.lines().join("\n");
    assert!(text.contains("fetching version: outer-1\n"), "{text}");
    assert!(text.contains("pushing version: pushed\n"), "{text}");
    // Those of checks would stay for the next one.
    fly.run(&["destroy-pipeline", "-n", "-p", "p"]).succeeded();
    namespace.wait_until_no_pods();
}

#[test]
fn a_hermetic_task_is_alone_and_others_are_not() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let server = namespace.server();
    let fly = server.fly();
    let script = "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ' | sort | xargs echo networks";
    let plain = task("plain", script, "");
    let alone =
        task("alone", script, "").replace("    config:\n", "    hermetic: true\n    config:\n");
    fly.pipeline(
        "p",
        &format!("jobs:\n- name: build\n  plan:\n{plain}{alone}"),
    );
    let text = fly
        .trigger_and_watch("p/build")
        .succeeded()
        .lines()
        .join("\n");
    assert!(text.contains("\nnetworks eth0 lo\n"), "{text}");
    assert!(text.contains("\nnetworks lo\n"), "{text}");
    namespace.wait_until_no_pods();
}

#[test]
fn without_user_namespaces_it_is_said_what_to_do() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let server = namespace.server_with("  host_users: true\n");
    let fly = server.fly();
    fly.pipeline("p", &built("echo never"));
    let output = fly.trigger_and_watch("p/build").ended_with(2);
    assert!(output.stdout.contains("leave host_users out"), "{output:?}");
    namespace.wait_until_no_pods();
}
