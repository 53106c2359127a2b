use airside_runtime::{Cause, Observed, Shortage};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::observed;

fn pod(status: Value) -> Pod {
    serde_json::from_value(json!({
        "metadata": {"name": "s-1", "uid": "u-1"},
        "spec": {"nodeName": "node1", "containers": [{"name": "step"}]},
        "status": status,
    }))
    .unwrap()
}

fn with_state(phase: &str, state: Value) -> Value {
    json!({"phase": phase, "containerStatuses": [
        {"name": "sidecar", "ready": true, "restartCount": 0, "image": "", "imageID": "",
         "state": {"running": {}}},
        {"name": "step", "ready": false, "restartCount": 0, "image": "", "imageID": "",
         "state": state},
    ]})
}

fn waiting(reason: &str, message: &str) -> Value {
    with_state(
        "Pending",
        json!({"waiting": {"reason": reason, "message": message}}),
    )
}

fn ready(status: &str, reason: Value) -> Value {
    let mut running = with_state("Running", json!({"running": {}}));
    running["conditions"] = json!([{"type": "Ready", "status": status, "reason": reason}]);
    running
}

fn pending(reason: &str) -> Observed {
    Observed::Pending {
        reason: reason.to_owned(),
        cause: Cause::Other,
    }
}

fn doomed(cause: Cause, reason: &str) -> Observed {
    Observed::Doomed {
        reason: reason.to_owned(),
        cause,
    }
}

fn no_cpu(reason: &str) -> Observed {
    let shortage = Shortage::Nodes {
        resources: vec!["cpu".to_owned()],
        pods: false,
    };
    Observed::Pending {
        reason: reason.to_owned(),
        cause: Cause::NoRoom { shortage },
    }
}

fn node() -> Option<String> {
    Some("node1".to_owned())
}

fn started() -> Observed {
    Observed::Started { node: node() }
}

fn silent(reason: &str) -> Observed {
    Observed::Silent {
        node: node(),
        reason: reason.to_owned(),
    }
}

fn gone(cause: Cause, reason: &str) -> Observed {
    Observed::Gone {
        node: node(),
        reason: reason.to_owned(),
        cause,
    }
}

fn exited(code: i32) -> Cause {
    Cause::Exited { code: Some(code) }
}

#[track_caller]
fn check(status: Value, expected: Observed) {
    assert_eq!(observed(&pod(status.clone())), expected, "{status}");
}

#[test]
fn waiting_for_a_node() {
    assert_eq!(observed(&Pod::default()), pending(""));
    check(json!({"phase": "Pending"}), pending(""));
    let scheduled = |reason: &str| {
        json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
            "reason": reason, "message": "0/1 nodes are available: 1 Insufficient cpu."}]})
    };
    check(
        scheduled("Unschedulable"),
        no_cpu("no node takes the pod yet: 0/1 nodes are available: 1 Insufficient cpu."),
    );
    check(
        scheduled("SchedulingGated"),
        no_cpu(
            "no node takes the pod yet (SchedulingGated): 0/1 nodes are available: 1 Insufficient cpu.",
        ),
    );
}

#[test]
fn waiting_for_the_container() {
    check(waiting("ContainerCreating", ""), pending(""));
    check(waiting("PodInitializing", ""), pending(""));
    check(waiting("Odd", ""), pending("Odd"));
    check(waiting("Odd", "thing"), pending("Odd: thing"));
}

#[test]
fn images() {
    let missing = "Back-off pulling image \"r/x:1\": ErrImagePull: rpc error: code = NotFound \
                   desc = failed to resolve reference \"r/x:1\": r/x:1: not found";
    check(
        waiting("ErrImagePull", "r/x:1: not found"),
        pending("the image cannot be pulled yet: r/x:1: not found"),
    );
    check(
        waiting("ImagePullBackOff", missing),
        doomed(
            Cause::ImageMissing,
            &format!("the image does not exist: {missing}"),
        ),
    );
    for message in [
        "Back-off pulling image \"r/x:1\"",
        "dial tcp: lookup r on 10.0.0.1:53: no such host: not found",
        "429 Too Many Requests",
    ] {
        check(
            waiting("ImagePullBackOff", message),
            pending(&format!("the image cannot be pulled yet: {message}")),
        );
    }
    check(
        waiting("InvalidImageName", "couldn't parse image name"),
        doomed(
            Cause::ImageMissing,
            "the image cannot be used: couldn't parse image name",
        ),
    );
}

#[test]
fn containers_that_cannot_start() {
    let missing = "exec: \"/.airside/bin/airside-shim\": no such file or directory";
    for reason in [
        "CreateContainerError",
        "RunContainerError",
        "CreateContainerConfigError",
    ] {
        check(
            waiting(reason, missing),
            doomed(
                Cause::CannotStart,
                &format!("the container cannot start: {missing}"),
            ),
        );
    }
    check(
        waiting("CreateContainerError", "context deadline exceeded"),
        pending("the container cannot start: context deadline exceeded"),
    );
    let ended =
        json!({"terminated": {"exitCode": 128, "reason": "StartError", "message": missing}});
    check(
        with_state("Failed", ended),
        doomed(
            Cause::CannotStart,
            &format!("the container cannot start: {missing}"),
        ),
    );
}

#[test]
fn running() {
    check(with_state("Running", json!({"running": {}})), started());
    check(ready("True", Value::Null), started());
    // The kubelet itself says so: it is there.
    check(ready("False", json!("ContainersNotReady")), started());
    check(ready("False", json!("ReadinessGatesNotReady")), started());
}

#[test]
fn silent_nodes() {
    check(
        ready("False", Value::Null),
        silent("node node1 does not answer"),
    );
    check(
        ready("Unknown", json!("NodeStatusUnknown")),
        silent("node node1 does not answer (NodeStatusUnknown)"),
    );
    let mut lost = with_state("Running", json!({"running": {}}));
    lost["reason"] = json!("NodeLost");
    lost["message"] = json!("Node node1 is unresponsive");
    check(
        lost,
        silent("node node1 does not answer (NodeLost: Node node1 is unresponsive)"),
    );
}

#[test]
fn a_pod_that_has_not_started_is_not_silent() {
    let mut status = waiting("ContainerCreating", "");
    status["conditions"] = json!([{"type": "Ready", "status": "False"}]);
    check(status, pending(""));
}

#[test]
fn ended_containers() {
    let ended = |terminated: Value| with_state("Failed", json!({"terminated": terminated}));
    check(
        ended(json!({"exitCode": 137, "reason": "OOMKilled"})),
        gone(Cause::OutOfMemory, "the step ran out of memory (OOMKilled)"),
    );
    check(
        ended(json!({"exitCode": 1, "reason": "Error"})),
        gone(exited(1), "the container exited with code 1"),
    );
    check(
        ended(json!({"exitCode": 0, "reason": "Completed"})),
        gone(exited(0), "the container exited with code 0"),
    );
    check(
        ended(json!({"exitCode": 137, "signal": 9})),
        gone(
            Cause::Killed { signal: 9 },
            "the container was killed by signal 9",
        ),
    );
    check(
        ended(json!({"exitCode": 255, "reason": "Unknown", "message": "sandbox died"})),
        gone(
            Cause::Other,
            "the container exited with code 255 (Unknown): sandbox died",
        ),
    );
    // A sidecar keeps the pod running; the step is over all the same.
    let over = json!({"terminated": {"exitCode": 2, "reason": "Error"}});
    check(
        with_state("Running", over),
        gone(exited(2), "the container exited with code 2"),
    );
}

#[test]
fn ended_pods() {
    check(
        json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory."}),
        gone(
            Cause::Evicted,
            "the pod failed: Evicted: The node was low on memory.",
        ),
    );
    check(
        json!({"phase": "Failed", "reason": "OutOfcpu"}),
        gone(Cause::Other, "the pod failed: OutOfcpu"),
    );
    check(
        json!({"phase": "Succeeded"}),
        gone(Cause::Other, "the pod succeeded"),
    );
    let mut killed = with_state("Failed", json!({"terminated": {"exitCode": 143}}));
    killed["conditions"] = json!([{"type": "DisruptionTarget", "status": "True",
        "reason": "PreemptionByScheduler", "message": "preempted by a pod of higher priority"}]);
    check(
        killed,
        gone(
            Cause::Evicted,
            "the container exited with code 143 (preempted by a pod of higher priority)",
        ),
    );
}

/// A pod with containers before the step's own, one of which stays.
fn with_inits(phase: &str, copier: Value, sidecar: Value) -> Pod {
    let status = |name: &str, state: Value| {
        json!({"name": name, "ready": false, "restartCount": 0, "image": "", "imageID": "",
               "state": state})
    };
    serde_json::from_value(json!({
        "metadata": {"name": "s-1"},
        "spec": {"nodeName": "node1", "containers": [{"name": "step"}], "initContainers": [
            {"name": "copier"}, {"name": "proxy", "restartPolicy": "Always"}]},
        "status": {"phase": phase,
            "initContainerStatuses": [status("copier", copier), status("proxy", sidecar)],
            "containerStatuses": [status("step", json!({"waiting": {"reason": "PodInitializing"}}))]},
    }))
    .unwrap()
}

#[test]
fn what_happens_before_the_step() {
    let waits = || json!({"waiting": {"reason": "PodInitializing"}});
    let done = || json!({"terminated": {"exitCode": 0, "reason": "Completed"}});
    let failed = |code: i32| json!({"terminated": {"exitCode": code, "reason": "Error"}});
    let because =
        |reason: &str, message: &str| json!({"waiting": {"reason": reason, "message": message}});
    for (phase, copier, sidecar, expected) in [
        ("Pending", waits(), waits(), pending("")),
        ("Pending", done(), waits(), pending("")),
        (
            "Failed",
            failed(1),
            waits(),
            doomed(
                Cause::Other,
                "container copier, which runs before the step, exited with code 1",
            ),
        ),
        (
            "Pending",
            because("InvalidImageName", "x"),
            waits(),
            doomed(
                Cause::ImageMissing,
                "container copier: the image cannot be used: x",
            ),
        ),
        // The kubelet starts it again.
        ("Pending", done(), failed(1), pending("")),
        (
            "Pending",
            done(),
            because("CrashLoopBackOff", "back-off 10s"),
            pending("container proxy: it keeps ending: back-off 10s"),
        ),
    ] {
        let pod = with_inits(phase, copier, sidecar);
        assert_eq!(observed(&pod), expected, "{:?}", pod.status);
    }
}

#[test]
fn a_registry_that_refuses_is_not_asked_for_ever() {
    for message in [
        "Back-off pulling image \"r/a\": ErrImagePull: unexpected status: 401 Unauthorized",
        "Back-off pulling image \"r/a\": ErrImagePull: unexpected status from HEAD request: 403 Forbidden",
        "pull access denied, repository does not exist or may require authorization",
    ] {
        assert!(matches!(
            observed(&pod(waiting("ImagePullBackOff", message))),
            Observed::Doomed {
                cause: Cause::ImageRefused | Cause::ImageMissing,
                ..
            }
        ));
        // Once is not enough.
        assert!(matches!(
            observed(&pod(waiting("ErrImagePull", message))),
            Observed::Pending { .. }
        ));
    }
}

#[test]
fn memory_that_is_used_up_is_told_with_its_limit() {
    let mut pod = pod(with_state(
        "Failed",
        json!({"terminated": {"reason": "OOMKilled", "exitCode": 137}}),
    ));
    assert_eq!(
        observed(&pod),
        gone(Cause::OutOfMemory, "the step ran out of memory (OOMKilled)")
    );
    let spec = pod.spec.as_mut().unwrap();
    spec.containers[0].resources =
        serde_json::from_value(json!({"limits": {"memory": "1048576"}})).unwrap();
    assert_eq!(
        observed(&pod),
        gone(
            Cause::OutOfMemory,
            "the step ran out of memory: its limit is 1048576 bytes (OOMKilled)"
        )
    );
}

#[test]
fn who_takes_a_running_pod_away_is_told_while_it_runs() {
    let running = || with_state("Running", json!({"running": {}}));
    let leaving = |reason: &str| Observed::Leaving {
        node: node(),
        reason: reason.to_owned(),
    };
    let mut evicted = running();
    evicted["conditions"] = json!([{"type": "DisruptionTarget", "status": "True",
        "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting"}]);
    check(
        evicted.clone(),
        leaving(
            "the pod was evicted, as `kubectl drain` and autoscalers do (Eviction API: evicting)",
        ),
    );
    let mut deleted = pod(running());
    deleted.metadata.deletion_timestamp =
        serde_json::from_value(json!("2026-01-01T00:00:00Z")).ok();
    assert_eq!(
        observed(&deleted),
        leaving(
            "the pod was deleted, and Kubernetes names no reason: `kubectl delete` was run, or its namespace \
             is being deleted"
        )
    );
    // A condition that was withdrawn says nothing.
    evicted["conditions"][0]["status"] = json!("False");
    check(evicted, started());
}

#[test]
fn a_container_that_ended_because_its_pod_was_deleted_was_removed() {
    let ended = |reason: &str, code: i32| {
        let ended = json!({"terminated": {"exitCode": code, "reason": reason}});
        let mut pod = pod(with_state("Failed", ended));
        pod.metadata.deletion_timestamp =
            serde_json::from_value(json!("2026-01-01T00:00:00Z")).ok();
        observed(&pod)
    };
    assert_eq!(
        ended("Error", 143),
        gone(
            Cause::Removed,
            "the container exited with code 143 (the pod was deleted)"
        )
    );
    // The step's own want of memory stays the cause.
    assert_eq!(
        ended("OOMKilled", 137),
        gone(
            Cause::OutOfMemory,
            "the step ran out of memory (OOMKilled) (the pod was deleted)"
        )
    );
}
