//! Scenes from the work of a cluster's administrator: drained nodes, pods that are only kept,
//! namespaces that enforce Pod Security, and steps that could never fit. Needs a cluster: see `make
//! test-cluster-all`.

use crate::support::{Namespace, WORKER, one_task, outage::wait_long, task, worker_field};
use airside_scenarios::{Counter, wait_until};

/// One field of a pod.
fn field(namespace: &Namespace, pod: &str, path: &str) -> String {
    let path = format!("jsonpath={path}");
    namespace.kubectl(&["get", "pod", pod, "--ignore-not-found", "-o", &path])
}

#[test]
fn a_step_that_is_taken_away_says_by_what_and_on_which_node() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let counter = Counter::start_at(namespace.host);
    let server = namespace.server();
    let fly = server.fly();
    for (name, words) in [
        ("evicted", "the pod was evicted, as `kubectl drain`"),
        ("deleted", "`kubectl delete` was run"),
    ] {
        let script = format!("{}; sleep 1000 & wait", counter.bump(name));
        fly.pipeline(name, &one_task(&script));
        let build = fly.trigger(&format!("{name}/build"));
        counter.wait(name, 1);
        let pod = namespace.pods().remove(0);
        let node = field(&namespace, &pod, "{.spec.nodeName}");
        if name == "evicted" {
            let eviction = format!(
                r#"{{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {{"name": "{pod}"}}}}"#
            );
            let file = std::env::temp_dir().join(format!("{}-eviction.json", namespace.name));
            std::fs::write(&file, eviction).unwrap();
            let path = format!("/api/v1/namespaces/{}/pods/{pod}/eviction", namespace.name);
            let file = file.to_str().unwrap();
            namespace.kubectl(&["create", "--raw", &path, "-f", file]);
        } else {
            namespace.kubectl(&["delete", "pod", &pod, "--wait=false"]);
        }
        let said = fly.watch(build.id).lines().join("\n");
        let expected = format!("its container was taken away on node {node} while it ran: ");
        assert!(
            said.contains(&expected) && said.contains(words),
            "{name}: {said}"
        );
        assert_eq!(fly.status(build.id), "errored");
        assert!(!said.contains("no suitable workers"), "{name}: {said}");
        namespace.wait_until_no_pods();
    }
}

#[test]
fn a_step_that_can_never_fit_takes_nobodys_kept_pods_and_those_say_what_they_are() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let server = namespace.server_with_args("", &["--keep-failed", "1h"]);
    let fly = server.fly();
    fly.pipeline("p", &one_task("exit 1"));
    fly.trigger_and_watch("p/build").ended_with(1);
    let kept = namespace.pod("a kept pod", "{.status.phase}", |phase| phase == "Running");

    let limits = "      container_limits: {cpu: 1024000}\n";
    let step = task("work", "echo never", limits);
    fly.pipeline("large", &format!("jobs:\n- name: build\n  plan:\n{step}"));
    let large = fly.trigger("large/build");
    fly.wait_for_text(large.id, "Insufficient cpu");
    // The kept pod is made smaller at once, as it might have helped.
    wait_long("it asks for less", || {
        field(
            &namespace,
            &kept,
            "{.spec.containers[0].resources.requests.cpu}",
        ) == "1m"
    });
    // By the time that it is marked, the step has looked for room many times.
    wait_long("it says that it is kept", || {
        field(&namespace, &kept, r"{.metadata.labels.airside\.dev/state}") == "kept"
    });
    let safe = r"{.metadata.annotations.cluster-autoscaler\.kubernetes\.io/safe-to-evict}";
    assert_eq!(field(&namespace, &kept, safe), "true");
    assert_eq!(
        field(&namespace, &kept, "{.metadata.deletionTimestamp}"),
        ""
    );
    fly.run(&["abort-build", "-b", &large.id.to_string()])
        .succeeded();
    let said = fly.watch(large.id).lines().join("\n");
    assert!(!said.contains("no suitable workers"), "{said}");
    namespace.kubectl(&["delete", "pods", "--all"]);
    namespace.wait_until_no_pods();
}

#[test]
fn a_restricted_namespace_runs_ordinary_steps() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let enforce = "pod-security.kubernetes.io/enforce=restricted";
    namespace
        .cluster
        .ask(&["kubectl", "label", "namespace", &namespace.name, enforce]);
    let server = namespace.server_with("  pod_security: restricted\n");
    let fly = server.fly();
    let caches = "      caches: [{path: ca}]\n      outputs: [{name: out}]\n";
    let inputs = "      caches: [{path: ca}]\n      inputs: [{name: out}]\n";
    let user = |step: String, user: &str| {
        step.replace(
            "run: {path: bash",
            &format!("run: {{user: '{user}', path: bash"),
        )
    };
    let root = task(
        "root",
        "id -u; echo left >ca/file; echo made >out/file",
        caches,
    );
    let nobody = task(
        "nobody",
        "id -u; cat out/file; echo x >>ca/file; grep CapEff /proc/self/status",
        inputs,
    );
    let number = task(
        "number",
        "id -u; echo more >>out/file; touch ca/new",
        inputs,
    );
    let plan = [root, user(nobody, "nobody"), user(number, "1234:5")].concat();
    fly.pipeline("p", &format!("jobs:\n- name: build\n  plan:\n{plan}"));
    let said = fly
        .trigger_and_watch("p/build")
        .succeeded()
        .lines()
        .join("\n");
    for words in ["65534", "made", "1234", "CapEff:\t0000000000000000"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    // Only the image knows which number it is.
    let named = user(task("work", "id -u", ""), "daemon");
    fly.pipeline("named", &format!("jobs:\n- name: build\n  plan:\n{named}"));
    let said = fly.trigger_and_watch("named/build").lines().join("\n");
    assert!(
        said.contains("name the user as") || said.contains("has no user"),
        "{said}"
    );
    wait_until("nothing is lacking", || {
        worker_field(&server, &fly, WORKER, "addr").is_some_and(|words| words.is_empty())
    });
    namespace.wait_until_no_pods();
}

#[test]
fn what_a_target_does_not_offer_is_no_lack() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let enforce = "pod-security.kubernetes.io/enforce=baseline";
    namespace
        .cluster
        .ask(&["kubectl", "label", "namespace", &namespace.name, enforce]);
    let lacks = |settings: &str, is_quiet: bool| {
        let server = namespace.server_with(settings);
        let fly = server.fly();
        let step = task("work", "true", "");
        let step = step.replacen("\n", "\n    hermetic: true\n", 1);
        fly.pipeline("p", &format!("jobs:\n- name: build\n  plan:\n{step}"));
        wait_long("it is known what is lacking", || {
            let words = worker_field(&server, &fly, WORKER, "addr").unwrap_or_default();
            words.contains("PodSecurity") != is_quiet
        });
        fly.trigger_and_watch("p/build").lines().join("\n")
    };
    let said = lacks("", false);
    assert!(said.contains("cannot run hermetic steps because"), "{said}");
    let said = lacks("  offers: [kept_resize, kept_marks]\n", true);
    assert!(said.contains("its target does not offer them"), "{said}");
    let said = lacks("  pod_security: baseline\n", true);
    assert!(said.contains("pod_security is baseline"), "{said}");
    namespace.wait_until_no_pods();
}
