//! Checks in pods: one pod for each team, whatever happens to it. Needs a cluster: see `make
//! test-cluster`.

use crate::support::{
    Namespace, WORKER,
    checks::{end, last_checked, many, pods_created, set, wait_for_checks},
    cluster,
};
use airside_scenarios::{Environment, Fly, type_layout, wait_until};

const EVERY: [&str; 2] = ["--resource-checking-interval", "2s"];

/// Beside ones that do nothing special, one that hangs and one that fails.
fn pipeline() -> String {
    let config = many(20);
    let (resources, jobs) = config.split_once("jobs:").unwrap();
    format!(
        "{resources}\
         - {{name: hangs, type: mock, source: {{check_delay: 1h}}, tags: [{WORKER}]}}\n\
         - {{name: fails, type: mock, source: {{check_failure: broken}}, tags: [{WORKER}]}}\n\
         - {{name: code, type: git, source: {{uri: 'file:///no/such/place'}}, tags: [{WORKER}]}}\n\
         jobs:{jobs}  - {{get: hangs, trigger: true}}\n  - {{get: fails}}\n  - {{get: code}}\n"
    )
}

fn check(fly: &Fly, name: &str, code: i32) -> String {
    let resource = format!("p/{name}");
    let ended = fly.run(&["check-resource", "-r", &resource, "--shallow"]);
    ended.ended_with(code).lines().join("\n")
}

#[test]
fn a_team_has_one_pod_for_its_checks() {
    if !Environment::get().real_fly_or_skip() {
        return;
    }
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let mut server = namespace.server_with_args("", &EVERY);
    let fly = server.fly();
    set(&fly, &pipeline());
    // Checks that hang or fail hold up no others.
    let but = ["hangs", "fails", "code"];
    wait_for_checks(&fly, &but, None);
    let first = last_checked(&fly);
    wait_for_checks(&fly, &but, Some(&first));
    assert_eq!(pods_created(&namespace), 2);

    // People see what they see of other checks.
    let text = check(&fly, "r1", 0);
    for words in [
        "initializing check: r1",
        "selected worker: pods",
        "succeeded",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let text = check(&fly, "fails", 1);
    assert!(text.contains("broken"), "{text}");
    // The image of this target has no git, and the check says so.
    let text = check(&fly, "code", 1);
    assert!(text.contains("git"), "{text}");
    assert_eq!(pods_created(&namespace), 2);

    // One that is taken away is placed again.
    let before = last_checked(&fly);
    let pods = namespace.pods();
    assert_eq!(pods.len(), 2, "{pods:?}");
    namespace.kubectl(&[
        "delete",
        "pod",
        &pods[0],
        "--grace-period=1",
        "--wait=false",
    ]);
    wait_until("another pod is there", || pods_created(&namespace) == 3);
    wait_for_checks(&fly, &but, Some(&before));

    // Another server makes its own, and removes those that it finds.
    let (before, old) = (last_checked(&fly), namespace.pods());
    server.kill_9();
    server.restart();
    wait_for_checks(&fly, &but, Some(&before));
    wait_until("the earlier pods are gone", || {
        let pods = namespace.pods();
        pods.len() == 2 && pods.iter().all(|pod| !old.contains(pod))
    });
    assert_eq!(pods_created(&namespace), 5);
    end(&fly, &namespace);
}

/// Says how often it ran in this container.
const CHECK: &str = r#"#!/bin/sh
cat >/dev/null
echo x >>/count
echo "run $(wc -l </count)" >&2
echo "[{\"v\": \"1\"}]"
"#;

#[test]
fn a_custom_type_has_one_pod_though_its_image_is_a_tag() {
    if !Environment::get().real_fly_or_skip() {
        return;
    }
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    type_layout(folder.path(), CHECK);
    let image = format!("airside.local/{}", namespace.name);
    let rootfs = folder.path().join("rootfs.tar");
    cluster(&["load", &format!("{image}:dev"), rootfs.to_str().unwrap()]);
    let server = namespace.server();
    let fly = server.fly();
    let names = ["a", "b", "c"];
    let resources = names.map(|name| {
        format!("- {{name: {name}, type: counting, source: {{n: {name}}}, check_every: never, tags: [{WORKER}]}}\n")
    });
    let config = format!(
        "resource_types:\n- {{name: counting, type: registry-image, check_every: 1h, \
         source: {{repository: {image}, tag: dev}}}}\nresources:\n{}\
         jobs: [{{name: j, plan: [{{get: a}}, {{get: b}}, {{get: c}}]}}]\n",
        resources.concat()
    );
    fly.pipeline("p", &config);
    let checks = names.map(|name| {
        let resource = format!("p/{name}");
        fly.spawn(&["check-resource", "-r", &resource, "--shallow"])
    });
    for check in checks {
        let text = check.wait().succeeded().lines().join("\n");
        assert!(text.contains("selected worker: pods"), "{text}");
    }
    assert!(check(&fly, "a", 0).contains("run 4"));
    assert_eq!(pods_created(&namespace), 1);
    let looked = fly.run(&["intercept", "-c", "p/b", "cat", "/count"]);
    assert_eq!(looked.succeeded().lines().len(), 4);
    fly.run(&["destroy-pipeline", "-n", "-p", "p"]).succeeded();
    namespace.wait_until_no_pods();
}

#[test]
fn a_pipeline_that_goes_takes_nobodys_checks_along() {
    if !Environment::get().real_fly_or_skip() {
        return;
    }
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let server = namespace.server();
    let fly = server.fly();
    let one = format!(
        "resources: [{{name: thing, type: mock, tags: [{WORKER}]}}]\njobs: [{{name: j, plan: [{{get: thing}}]}}]\n"
    );
    let checked = |pipeline: &str| {
        fly.pipeline(pipeline, &one);
        let thing = format!("{pipeline}/thing");
        fly.run(&["check-resource", "-r", &thing]).succeeded();
    };
    // The pod is made for the first, and known by its build, which goes with it.
    checked("first");
    fly.run(&["destroy-pipeline", "-n", "-p", "first"])
        .succeeded();
    checked("second");
    checked("third");
    assert!(pods_created(&namespace) <= 2);
    for pipeline in ["second", "third"] {
        fly.run(&["destroy-pipeline", "-n", "-p", pipeline])
            .succeeded();
    }
    namespace.wait_until_no_pods();
}
