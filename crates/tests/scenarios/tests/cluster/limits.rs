//! Namespaces that are full, gone or closed to us, more pods at once than is usual, and steps that
//! ask for more than they may have. Needs a cluster: see `make test-cluster-all`.

use std::fs;

use crate::support::{
    Namespace, WORKER, checks::pods_created, one_task, outage::wait_long, task, worker_field,
};
use airside_scenarios::{Counter, Environment, wait_until};

#[test]
fn a_quota_is_exhausted_and_released() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    namespace.kubectl(&["create", "quota", "few", "--hard=pods=1"]);
    // It counts once the controller has looked at it.
    let counted = "--for=jsonpath={.status.hard.pods}=1";
    namespace.kubectl(&["wait", "resourcequota/few", counted]);
    let counter = Counter::start_at(namespace.host);
    let server = namespace.server();
    let fly = server.fly();
    for name in ["first", "second"] {
        fly.pipeline(name, &one_task(&counter.bump(name)));
    }
    counter.hold("first");
    let first = fly.trigger("first/build");
    counter.wait("first", 1);
    let second = fly.trigger("second/build");
    fly.wait_for_text(second.id, "exceeded quota: few");
    assert_eq!(namespace.pods().len(), 1);
    counter.release("first");
    fly.watch(first.id).succeeded();
    fly.watch(second.id).succeeded();
    assert_eq!(counter.arrivals(), ["first", "second"]);
    namespace.wait_until_no_pods();
}

#[test]
fn two_hundred_pods_at_once() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let counter = Counter::start_at(namespace.host);
    let server = namespace.server();
    let fly = server.fly();
    let steps: String = (0..200)
        .map(|number| {
            let step = task(&format!("t{number}"), &counter.bump("all"), "");
            step.replace("\n    ", "\n      ")
                .replacen("  - ", "    - ", 1)
        })
        .collect();
    fly.pipeline(
        "p",
        &format!("jobs:\n- name: build\n  plan:\n  - in_parallel:\n{steps}"),
    );
    counter.hold("all");
    let build = fly.trigger("p/build");
    // All of them are there before the first may go. As long as there are more and more, a busy
    // machine may take its time.
    let mut there = 0;
    while there < 200 {
        wait_long("more pods run", || counter.count("all") > there);
        there = counter.count("all");
    }
    counter.release("all");
    wait_long("the build ends", || fly.status(build.id) != "started");
    assert_eq!(fly.status(build.id), "succeeded");
    assert_eq!(counter.count("all"), 200, "each once");
    let mut left = namespace.pods().len();
    while left > 0 {
        wait_long("fewer pods are left", || namespace.pods().len() < left);
        left = namespace.pods().len();
    }
    assert_eq!(pods_created(&namespace), 200);
}

#[test]
fn a_namespace_is_deleted_under_a_task_and_made_again() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let counter = Counter::start_at(namespace.host);
    let server = namespace.server_with("  grace_period_seconds: 2\n  stalled_after_seconds: 5\n");
    let fly = server.fly();
    fly.pipeline("p", &one_task(&counter.bump("run")));
    counter.hold("run");
    let build = fly.trigger("p/build");
    counter.wait("run", 1);
    let delete = ["kubectl", "delete", "namespace", &namespace.name];
    namespace.cluster.ask(&delete);
    let said = fly.watch(build.id).ended_with(2).lines().join("\n");
    assert!(said.contains("the step was lost on worker pods"), "{said}");

    // It is gone, and the account with it.
    let lacks = || worker_field(&server, &fly, WORKER, "addr").unwrap_or_default();
    let state = || worker_field(&server, &fly, WORKER, "state").unwrap_or_default();
    wait_until("it is said what is missing", || {
        state() == "stalled" && lacks().contains("has not accepted its credentials")
    });
    let waits = fly.trigger("p/build");
    fly.wait_for_text(waits.id, "waiting");
    namespace.make_again();
    server.reload();
    counter.release("run");
    wait_until("nothing is missing", || {
        state() == "running" && lacks().is_empty()
    });
    fly.watch(waits.id).succeeded();
    assert_eq!(counter.count("run"), 2);
    namespace.wait_until_no_pods();
}

#[test]
fn a_user_without_rights_places_nothing() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    // The default account may do nothing.
    let token = namespace.kubectl(&["create", "token", "default"]);
    let text = fs::read_to_string(namespace.kubeconfig()).unwrap();
    let (before, rest) = text.split_once("token: ").unwrap();
    let (_, after) = rest.split_once('}').unwrap();
    let powerless = format!("{before}token: {}}}{after}", token.trim());
    fs::write(namespace.kubeconfig(), powerless).unwrap();
    let server = namespace.server();
    let fly = server.fly();
    let expected = "its account may not create, get, list, watch, delete pods";
    wait_until("the missing rights are shown", || {
        worker_field(&server, &fly, WORKER, "addr").is_some_and(|words| words.contains(expected))
    });
    if Environment::get().has_real_fly() {
        let listed = fly.run(&["workers", "-d"]).succeeded();
        assert!(listed.stdout.contains(expected), "{}", listed.stdout);
    }
    fly.pipeline("p", &one_task("echo never"));
    let said = fly.trigger_and_watch("p/build").ended_with(2);
    let said = said.lines().join("\n");
    assert!(said.contains(expected), "{said}");
    assert_eq!(pods_created(&namespace), 0);
}

#[test]
fn what_takes_too_much_memory_is_told() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let server = namespace.server();
    let fly = server.fly();
    // A shell variable that doubles, in the step's own process and in a child of it.
    for (name, eat) in [
        ("itself", "x=aaaaaaaa; while :; do x=$x$x; done"),
        ("child", "bash -c 'x=aaaaaaaa; while :; do x=$x$x; done'"),
    ] {
        let limits = "      container_limits: {memory: 32MB}\n";
        let step = task("work", &format!("echo begin; {eat}"), limits);
        fly.pipeline(name, &format!("jobs:\n- name: build\n  plan:\n{step}"));
        let output = fly.trigger_and_watch(&format!("{name}/build"));
        let said = output.lines().join("\n");
        assert!(
            said.contains("out of memory: a process was killed"),
            "{name}: {said}"
        );
        assert!(said.contains("33554432 bytes"), "{name}: {said}");
        assert_ne!(output.code, Some(0));
    }
    namespace.wait_until_no_pods();
}

#[test]
fn what_takes_too_much_disk_is_told() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let server = namespace.server_with(
        "  pod_rules:\n  - match: {team: main}\n    patch: {spec: {containers: [{name: step, resources: \
         {limits: {ephemeral-storage: 1Mi}}}]}}\n",
    );
    let fly = server.fly();
    let script = "dd if=/dev/zero of=file bs=1M count=50 2>/dev/null; sleep 1000 & wait";
    fly.pipeline("p", &one_task(script));
    let build = fly.trigger("p/build");
    wait_long("the kubelet looks at it", || {
        fly.status(build.id) == "errored"
    });
    let said = fly.watch(build.id).ended_with(2).lines().join("\n");
    assert!(said.contains("ephemeral local storage"), "{said}");
    assert!(said.contains("not run again by itself"), "{said}");
    namespace.wait_until_no_pods();
}

#[test]
fn a_kept_pod_is_made_smaller_and_can_still_be_looked_into() {
    if !Environment::get().real_fly_or_skip() {
        return;
    }
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let server =
        namespace.server_with_args("  kept_shrink_after_seconds: 1\n", &["--keep-failed", "1h"]);
    let fly = server.fly();
    fly.pipeline("p", &one_task("echo left >/tmp/file; exit 1"));
    fly.trigger_and_watch("p/build").ended_with(1);
    let look = [
        "intercept",
        "-j",
        "p/build",
        "-s",
        "work",
        "--",
        "cat",
        "/tmp/file",
    ];
    assert_eq!(fly.run(&look).succeeded().stdout, "left\n");
    let requests = "{.spec.containers[0].resources.requests.cpu}";
    namespace.pod("it gives back what it asked for", requests, |cpu| {
        cpu == "1m"
    });
    assert_eq!(fly.run(&look).succeeded().stdout, "left\n");
    namespace.kubectl(&["delete", "pods", "--all"]);
    namespace.wait_until_no_pods();
}
