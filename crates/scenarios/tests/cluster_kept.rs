//! Pods that stay for people to look inside, and what a build says of pods that cannot run or run no longer.
//! Needs a cluster: see `make test-cluster`.

#![allow(clippy::unwrap_used, clippy::panic)]

mod cluster_support;

use airside_scenarios::wait_until;
use cluster_support::{Namespace, one_task, task};

/// What resizing takes beyond the usual rights.
fn may_resize(namespace: &Namespace) {
    namespace.kubectl(&[
        "create",
        "role",
        "resize",
        "--verb=patch",
        "--resource=pods/resize",
    ]);
    let account = format!("--serviceaccount={}:airside", namespace.name);
    namespace.kubectl(&["create", "rolebinding", "resize", "--role=resize", &account]);
}

#[test]
fn an_idle_pod_is_made_smaller_and_the_oldest_go_first() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    may_resize(&namespace);
    let settings = "  kept_max: 1\n  kept_shrink_after_seconds: 1\n";
    let server = namespace.server_with_args(settings, &["--keep-failed", "1h"]);
    let fly = server.fly();
    fly.pipeline("p", &one_task("exit 1"));
    fly.watch(fly.trigger("p/build").id);
    let small = "{.spec.containers[0].resources.requests.cpu}";
    let first = namespace.pod("a smaller pod", small, |cpu| cpu == "1m");
    fly.pipeline("q", &one_task("exit 1"));
    fly.watch(fly.trigger("q/build").id);
    wait_until("the oldest has gone", || {
        let pods = namespace.pods();
        pods.len() == 1 && !pods.contains(&first)
    });
    for pipeline in ["p", "q"] {
        fly.run(&["destroy-pipeline", "-n", "-p", pipeline])
            .succeeded();
    }
    namespace.wait_until_no_pods();
}

#[test]
fn a_task_that_runs_out_of_memory_hears_so() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let server = namespace.server();
    let fly = server.fly();
    let script = "x=aaaaaaaaaaaaaaaa; while true; do x=$x$x; done";
    let limits = "      container_limits: {memory: 64MB}\n";
    let job = format!(
        "jobs:\n- name: build\n  plan:\n{}",
        task("work", script, limits)
    );
    fly.pipeline("p", &job);
    let said = fly.watch(fly.trigger("p/build").id).lines().join("\n");
    assert!(said.contains("out of memory"), "{said}");
    namespace.wait_until_no_pods();
}
