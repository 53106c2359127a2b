//! Targets of a real cluster that come, go, are full or lack something. Needs a cluster: see `make
//! test-cluster`.

use std::{fs, path::PathBuf};

use crate::support::{Namespace, WORKER, one_task, worker_field};
use airside_scenarios::{Counter, Fly, Server, ServerOptions, wait_until};

fn file(namespace: &Namespace) -> PathBuf {
    namespace.kubeconfig().with_file_name("targets.yml")
}

fn write(namespace: &Namespace, targets: &[&str]) {
    fs::write(file(namespace), format!("targets:\n{}", targets.concat())).unwrap();
}

fn start(namespace: &Namespace, targets: &[&str]) -> (Server, Fly) {
    write(namespace, targets);
    let server = ServerOptions::new()
        .hub_ip("0.0.0.0".parse().unwrap())
        .args(["--targets", file(namespace).to_str().unwrap()])
        .args(["--keep-failed", "0"])
        .start();
    let fly = server.fly();
    (server, fly)
}

#[test]
fn a_target_that_leaves_while_a_step_runs_and_comes_back() {
    let (Some(one), Some(two)) = (Namespace::offered(), Namespace::offered()) else {
        return;
    };
    let counter = Counter::start_at(one.host);
    let (stays, leaves) = (one.target(WORKER, ""), two.target("second", ""));
    let (server, fly) = start(&one, &[&stays]);
    let pipeline = one_task(&counter.bump("run")).replace("[pods]", "[second]");
    fly.pipeline("p", &pipeline);
    write(&one, &[&stays, &leaves]);
    let state = || worker_field(&server, &fly, "second", "state");
    wait_until("the target registers", || {
        state().as_deref() == Some("running")
    });

    counter.hold("run");
    let build = fly.trigger("p/build");
    counter.wait("run", 1);
    let label = r"jsonpath={.items[0].metadata.labels.airside\.dev/installation}";
    let steps = ["-l", "!airside.dev/probe"];
    let installation = two.kubectl(&[&["get", "pods", "-o", label][..], &steps].concat());
    // A change under its feet, and then it is taken out.
    let changed = format!("{leaves}  max_pods: 5\n");
    write(&one, &[&stays, &changed]);
    wait_until("the change is read", || {
        server.log().contains("target read again")
    });
    write(&one, &[&stays]);
    wait_until("it retires", || state().as_deref() == Some("retiring"));
    counter.release("run");
    fly.watch(build.id).succeeded();
    wait_until("it is gone", || {
        server.log().contains("worker removed: its target")
    });
    two.wait_until_no_pods();

    // A pod without a record is found by its labels when the target is back.
    let image = "--image=airside.local/busybox:dev";
    let labels =
        format!("--labels=airside.dev/installation={installation},airside.dev/worker=second");
    two.kubectl(&[
        "run",
        "left-behind",
        image,
        &labels,
        "--command",
        "--",
        "sleep",
        "3600",
    ]);
    write(&one, &[&stays, &leaves]);
    wait_until("it is back", || state().as_deref() == Some("running"));
    two.wait_until_no_pods();
    fly.trigger_and_watch("p/build").succeeded();
    assert_eq!(counter.count("run"), 2);
    two.wait_until_no_pods();
}

#[test]
fn no_more_pods_than_the_target_allows() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let counter = Counter::start_at(namespace.host);
    let (_server, fly) = start(&namespace, &[&namespace.target(WORKER, "  max_pods: 1\n")]);
    for name in ["first", "second"] {
        fly.pipeline(name, &one_task(&counter.bump(name)));
    }
    counter.hold("first");
    let first = fly.trigger("first/build");
    counter.wait("first", 1);
    let second = fly.trigger("second/build");
    fly.wait_for_text(second.id, "quota of 1 pods (max_pods) is used up");
    assert_eq!(namespace.pods().len(), 1);
    counter.release("first");
    fly.watch(first.id).succeeded();
    fly.watch(second.id).succeeded();
    namespace.wait_until_no_pods();
}

#[test]
fn what_a_target_lacks_is_said_before_a_step_needs_it() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let restricted = "pod-security.kubernetes.io/enforce=restricted";
    namespace.kubectl(&["label", "namespace", &namespace.name, restricted]);
    let (server, fly) = start(&namespace, &[&namespace.target(WORKER, "")]);
    let lacks = || worker_field(&server, &fly, WORKER, "addr").unwrap_or_default();
    wait_until("the refusal is shown", || {
        lacks().contains("violates PodSecurity")
    });
    assert_eq!(server.log().matches("worker lacks something").count(), 1);
    fly.pipeline("p", &one_task("true"));
    let build = fly.trigger("p/build");
    fly.wait_for_text(build.id, "worker pods cannot run steps because");

    // Rights are asked for before pods are tried.
    namespace.kubectl(&[
        "label",
        "namespace",
        &namespace.name,
        "pod-security.kubernetes.io/enforce-",
    ]);
    namespace.kubectl(&["delete", "rolebinding", "airside"]);
    wait_until("the missing rights are shown", || {
        lacks().contains("may not create, get, list, watch, delete pods")
    });
    let binding = ["create", "rolebinding", "airside", "--role=airside"];
    let account = format!("--serviceaccount={}:airside", namespace.name);
    namespace.kubectl(&[&binding[..], &[&account]].concat());
    wait_until("nothing is lacking", || lacks().is_empty());
    fly.trigger_and_watch("p/build").succeeded();
    namespace.wait_until_no_pods();
}
