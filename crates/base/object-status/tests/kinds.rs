//! A table of cases for each kind that has a rule of its own.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

use airside_object_status::{StatusRules, judge};
use serde_json::{Value, json};

/// Judges an object of a kind with this rest, and gives the verdict's words.
fn verdict(api_version: &str, kind: &str, rest: &Value) -> String {
    let mut object =
        json!({"apiVersion": api_version, "kind": kind, "metadata": {"generation": 2}});
    for (key, value) in rest.as_object().unwrap() {
        object[key] = value.clone();
    }
    let rules = StatusRules {
        has_status: true,
        ..StatusRules::default()
    };
    judge(&object, &rules).to_string()
}

fn check(api_version: &str, kind: &str, cases: &[(Value, &str)]) {
    for (rest, words) in cases {
        assert_eq!(verdict(api_version, kind, rest), *words, "{kind} {rest}");
    }
}

fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({"type": type_, "status": status, "reason": reason, "message": message})
}

#[test]
fn pods() {
    let ready = condition("Ready", "True", "", "");
    let never = json!({"restartPolicy": "Never"});
    let no_node = condition(
        "PodScheduled",
        "False",
        "Unschedulable",
        "0/3 nodes are available",
    );
    let ended =
        json!([{"name": "main", "state": {"terminated": {"exitCode": 3, "reason": "Error"}}}]);
    let killed = json!([{"name": "main", "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]);
    let pulling = json!([{"name": "main", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}]);
    check(
        "v1",
        "Pod",
        &[
            (json!({}), "the pod is not scheduled"),
            (
                json!({"status": {"phase": "Pending", "conditions": [no_node]}}),
                "the pod is Pending: Unschedulable: 0/3 nodes are available",
            ),
            (
                json!({"status": {"phase": "Pending", "containerStatuses": pulling}}),
                "the pod is Pending: container main: ImagePullBackOff no such image",
            ),
            (
                json!({"status": {"phase": "Running"}}),
                "the pod is Running",
            ),
            (
                json!({"status": {"phase": "Running", "conditions": [ready]}}),
                "done: Ready",
            ),
            (
                json!({"spec": never, "status": {"phase": "Running", "conditions": [ready]}}),
                "the pod is Running",
            ),
            (
                json!({"spec": never, "status": {"phase": "Succeeded"}}),
                "done: Succeeded",
            ),
            (
                json!({"status": {"phase": "Failed", "containerStatuses": ended}}),
                "failed: Error: container main ended with exit status 3",
            ),
            (
                json!({"status": {"phase": "Failed", "containerStatuses": killed}}),
                "failed: OOMKilled: container main ended with exit status 137",
            ),
            (
                json!({"status": {"phase": "Failed", "reason": "Evicted", "message": "the node was low on memory"}}),
                "failed: Evicted: the node was low on memory",
            ),
            (
                json!({"status": {"phase": "Running", "observedGeneration": 1, "conditions": [ready]}}),
                "its status is about generation 1, and it has generation 2",
            ),
        ],
    );
}

#[test]
fn jobs() {
    let failed = condition(
        "Failed",
        "True",
        "BackoffLimitExceeded",
        "Job has reached the specified backoff limit",
    );
    let deadline = condition(
        "Failed",
        "True",
        "DeadlineExceeded",
        "Job was active longer than specified deadline",
    );
    let target = condition("FailureTarget", "True", "BackoffLimitExceeded", "");
    check(
        "batch/v1",
        "Job",
        &[
            (
                json!({}),
                "0 of 1 pods have succeeded, 0 run, 0 have failed",
            ),
            (
                json!({"spec": {"completions": 3}, "status": {"active": 1, "succeeded": 2, "failed": 1}}),
                "2 of 3 pods have succeeded, 1 run, 1 have failed",
            ),
            (json!({"spec": {"suspend": true}}), "the job is suspended"),
            (
                json!({"status": {"succeeded": 1, "conditions": [condition("Complete", "True", "", "")]}}),
                "done: Complete",
            ),
            (
                json!({"status": {"failed": 1, "conditions": [target]}}),
                "0 of 1 pods have succeeded, 0 run, 1 have failed",
            ),
            (
                json!({"status": {"conditions": [target, failed]}}),
                "failed: BackoffLimitExceeded: Job has reached the specified backoff limit",
            ),
            (
                json!({"status": {"conditions": [deadline]}}),
                "failed: DeadlineExceeded: Job was active longer than specified deadline",
            ),
        ],
    );
}

#[test]
fn deployments() {
    let status = |observed: i64, all: i64, updated: i64, available: i64| json!({"observedGeneration": observed, "replicas": all, "updatedReplicas": updated, "availableReplicas": available});
    let two = json!({"replicas": 2});
    let mut late = status(2, 3, 1, 2);
    late["conditions"] = json!([condition(
        "Progressing",
        "False",
        "ProgressDeadlineExceeded",
        "ReplicaSet has timed out"
    )]);
    let mut late_before = late.clone();
    late_before["observedGeneration"] = json!(1);
    let mut quota = status(2, 0, 0, 0);
    quota["conditions"] = json!([condition(
        "ReplicaFailure",
        "True",
        "FailedCreate",
        "exceeded quota"
    )]);
    check(
        "apps/v1",
        "Deployment",
        &[
            (
                json!({"spec": two}),
                "its status is about generation 0, and it has generation 2",
            ),
            (
                json!({"spec": two, "status": status(1, 2, 2, 2)}),
                "its status is about generation 1, and it has generation 2",
            ),
            (
                json!({"spec": two, "status": status(2, 2, 1, 2)}),
                "1 of 2 replicas are updated",
            ),
            (
                json!({"spec": two, "status": status(2, 3, 2, 2)}),
                "1 old replicas are still there",
            ),
            (
                json!({"spec": two, "status": status(2, 2, 2, 1)}),
                "1 of 2 replicas are available",
            ),
            (
                json!({"spec": two, "status": status(2, 2, 2, 2)}),
                "done: Available",
            ),
            (
                json!({"spec": {}, "status": status(2, 1, 1, 1)}),
                "done: Available",
            ),
            (
                json!({"spec": {"replicas": 0}, "status": {"observedGeneration": 2}}),
                "done: Available",
            ),
            (
                json!({"spec": {"replicas": 2, "paused": true}, "status": status(2, 2, 2, 2)}),
                "the deployment is paused",
            ),
            (
                json!({"spec": two, "status": late}),
                "failed: ProgressDeadlineExceeded: ReplicaSet has timed out",
            ),
            (
                json!({"spec": two, "status": late_before}),
                "its status is about generation 1, and it has generation 2",
            ),
            (
                json!({"spec": two, "status": quota}),
                "0 of 2 replicas are updated: exceeded quota",
            ),
        ],
    );
}

#[test]
fn stateful_sets() {
    let status = |ready: i64, updated: i64, current: &str| json!({"observedGeneration": 2, "readyReplicas": ready, "updatedReplicas": updated, "currentRevision": current, "updateRevision": "b"});
    let spec = json!({"replicas": 3});
    let partition = json!({"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 2}}});
    let by_hand = json!({"replicas": 3, "updateStrategy": {"type": "OnDelete"}});
    check(
        "apps/v1",
        "StatefulSet",
        &[
            (
                json!({"spec": spec}),
                "its status is about generation 0, and it has generation 2",
            ),
            (
                json!({"spec": spec, "status": status(2, 3, "b")}),
                "2 of 3 replicas are ready",
            ),
            (
                json!({"spec": spec, "status": status(3, 2, "a")}),
                "2 of 3 replicas are updated",
            ),
            (
                json!({"spec": spec, "status": status(3, 3, "b")}),
                "done: Ready",
            ),
            (
                json!({"spec": partition, "status": status(3, 0, "a")}),
                "0 of 1 replicas are updated",
            ),
            (
                json!({"spec": partition, "status": status(3, 1, "a")}),
                "done: Ready",
            ),
            (
                json!({"spec": by_hand, "status": status(3, 0, "a")}),
                "done: Ready",
            ),
        ],
    );
}

#[test]
fn daemon_sets() {
    let status = |desired: i64, updated: i64, available: i64| json!({"observedGeneration": 2, "desiredNumberScheduled": desired, "updatedNumberScheduled": updated, "numberAvailable": available});
    check(
        "apps/v1",
        "DaemonSet",
        &[
            (
                json!({}),
                "its status is about generation 0, and it has generation 2",
            ),
            (
                json!({"status": status(3, 1, 3)}),
                "1 of 3 pods are updated",
            ),
            (
                json!({"status": status(3, 3, 2)}),
                "2 of 3 pods are available",
            ),
            (json!({"status": status(3, 3, 3)}), "done: Available"),
            (json!({"status": status(0, 0, 0)}), "done: Available"),
            (
                json!({"spec": {"updateStrategy": {"type": "OnDelete"}}, "status": status(3, 0, 3)}),
                "done: Available",
            ),
        ],
    );
}

#[test]
fn replica_sets() {
    check(
        "apps/v1",
        "ReplicaSet",
        &[
            (
                json!({}),
                "its status is about generation 0, and it has generation 2",
            ),
            (
                json!({"spec": {"replicas": 2}, "status": {"observedGeneration": 2, "availableReplicas": 1}}),
                "1 of 2 replicas are available",
            ),
            (
                json!({"spec": {"replicas": 2}, "status": {"observedGeneration": 2, "availableReplicas": 2}}),
                "done: Available",
            ),
        ],
    );
}

#[test]
fn volumes_services_and_namespaces() {
    check(
        "v1",
        "PersistentVolumeClaim",
        &[
            (
                json!({"status": {"phase": "Pending"}}),
                "the claim is not bound to a volume",
            ),
            (json!({"status": {"phase": "Bound"}}), "done: Bound"),
            (
                json!({"status": {"phase": "Lost"}}),
                "failed: Lost: its volume is gone",
            ),
        ],
    );
    check(
        "v1",
        "Service",
        &[
            (
                json!({"spec": {"type": "ClusterIP"}, "status": {"loadBalancer": {}}}),
                "done: Applied",
            ),
            (
                json!({"spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {}}}),
                "the load balancer has no address yet",
            ),
            (
                json!({"spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}),
                "done: Addressed",
            ),
        ],
    );
    check(
        "v1",
        "Namespace",
        &[
            (json!({}), "the namespace is not active yet"),
            (json!({"status": {"phase": "Active"}}), "done: Active"),
        ],
    );
}

#[test]
fn definitions() {
    let accepted = condition("NamesAccepted", "True", "", "");
    let established = condition("Established", "True", "", "");
    let refused = condition(
        "NamesAccepted",
        "False",
        "ListKindConflict",
        "AppList is already in use",
    );
    check(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        &[
            (json!({}), "the definition is not established yet"),
            (
                json!({"status": {"conditions": [accepted]}}),
                "the definition is not established yet",
            ),
            (
                json!({"status": {"conditions": [accepted, established]}}),
                "done: Established",
            ),
            (
                json!({"status": {"conditions": [refused]}}),
                "failed: ListKindConflict: AppList is already in use",
            ),
        ],
    );
    check(
        "apiregistration.k8s.io/v1",
        "APIService",
        &[
            (json!({}), "the API service is not available yet"),
            (
                json!({"status": {"conditions": [condition("Available", "False", "MissingEndpoints", "none")]}}),
                "Available is False: MissingEndpoints: none",
            ),
            (
                json!({"status": {"conditions": [condition("Available", "True", "Passed", "")]}}),
                "done: Available",
            ),
        ],
    );
}

#[test]
fn kinds_whose_status_may_stay_empty() {
    for (api_version, kind) in [
        ("batch/v1", "CronJob"),
        ("networking.k8s.io/v1", "Ingress"),
        ("policy/v1", "PodDisruptionBudget"),
        ("autoscaling/v2", "HorizontalPodAutoscaler"),
        ("v1", "ResourceQuota"),
    ] {
        assert_eq!(
            verdict(api_version, kind, &json!({})),
            "done: Applied",
            "{kind}"
        );
    }
}

#[test]
fn argo_cd_applications() {
    let source = |revision: &str| json!({"repoURL": "https://git.example.com/app", "path": "deploy", "targetRevision": revision});
    let status = |sync: &str, health: &str, revision: &str| json!({"sync": {"status": sync, "revision": "abc", "comparedTo": {"source": source(revision)}}, "health": {"status": health}});
    let spec = json!({"source": source("v2")});
    let mut failed = status("OutOfSync", "Missing", "v2");
    failed["operationState"] = json!({"phase": "Failed", "message": "one object failed", "syncResult": {"revision": "abc"}});
    let mut failed_before = failed.clone();
    failed_before["operationState"]["syncResult"]["revision"] = json!("old");
    let mut unreadable = status("Unknown", "Healthy", "v2");
    unreadable["conditions"] =
        json!([{"type": "ComparisonError", "message": "authentication required"}]);
    check(
        "argoproj.io/v1alpha1",
        "Application",
        &[
            (
                json!({"spec": spec}),
                "no controller has reported a status yet",
            ),
            (
                json!({"spec": spec, "status": status("Synced", "Healthy", "v1")}),
                "its status is about other sources than it has now",
            ),
            (
                json!({"spec": spec, "status": status("OutOfSync", "Healthy", "v2")}),
                "the application is OutOfSync and Healthy",
            ),
            (
                json!({"spec": spec, "status": status("Synced", "Progressing", "v2")}),
                "the application is Synced and Progressing",
            ),
            (
                json!({"spec": spec, "status": status("Synced", "Healthy", "v2")}),
                "done: Healthy",
            ),
            (
                json!({"spec": spec, "status": status("Synced", "Degraded", "v2")}),
                "failed: Degraded",
            ),
            (
                json!({"spec": spec, "status": failed}),
                "failed: SyncFailed: one object failed",
            ),
            (
                json!({"spec": spec, "status": failed_before}),
                "the application is OutOfSync and Missing",
            ),
            (
                json!({"spec": spec, "status": unreadable}),
                "the application is Unknown and Healthy: authentication required",
            ),
            (
                json!({"spec": {"sources": [source("v2")]}, "status": status("Synced", "Healthy", "v1")}),
                "its status is about other sources than it has now",
            ),
        ],
    );
}

#[test]
fn argo_workflows() {
    check(
        "argoproj.io/v1alpha1",
        "Workflow",
        &[
            (json!({}), "no controller has reported a status yet"),
            (
                json!({"status": {"phase": "Running", "message": ""}}),
                "the workflow is Running",
            ),
            (json!({"status": {"phase": "Succeeded"}}), "done: Succeeded"),
            (
                json!({"status": {"phase": "Failed", "message": "child failed"}}),
                "failed: Failed: child failed",
            ),
        ],
    );
}
