//! Objects of other people's controllers, judged by the conventions that they keep.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

use airside_object_status::{FieldTest, FieldTestForm, ObjectVerdict, StatusRules, judge};
use serde_json::{Value, json};

fn object(api_version: &str, kind: &str, generation: i64, status: &Value) -> Value {
    json!({
        "apiVersion": api_version, "kind": kind,
        "metadata": {"generation": generation, "uid": "u1"}, "status": status,
    })
}

fn rules() -> StatusRules {
    StatusRules {
        has_status: true,
        ..StatusRules::default()
    }
}

fn test(form: Value) -> FieldTest {
    let form: FieldTestForm = serde_json::from_value(form).unwrap();
    FieldTest::try_from(form).unwrap()
}

fn one(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({"conditions": [{"type": type_, "status": status, "reason": reason, "message": message}]})
}

fn observed(mut status: Value, generation: i64) -> Value {
    status["observedGeneration"] = json!(generation);
    status
}

#[test]
fn controllers_of_others() {
    let unreported = "no controller has reported a status yet";
    let behind = "its status is about generation 1, and it has generation 2";
    let cert = |status: &str, generation: i64| json!({"conditions": [{"type": "Ready", "status": status, "reason": "DoesNotExist", "message": "issuing", "observedGeneration": generation}]});
    let flux = |ready: &str, more: &str| {
        json!({"observedGeneration": 2, "conditions": [
            {"type": more, "status": "True", "reason": "R", "message": "m"},
            {"type": "Ready", "status": ready, "reason": "ReadyReason", "message": "ready"},
        ]})
    };
    let cases: Vec<(&str, &str, Value, &str)> = vec![
        // kpack
        ("kpack.io/v1alpha2", "Image", json!(null), unreported),
        (
            "kpack.io/v1alpha2",
            "Image",
            observed(one("Ready", "True", "", ""), 1),
            behind,
        ),
        (
            "kpack.io/v1alpha2",
            "Image",
            observed(one("Ready", "Unknown", "BuildRunning", ""), 2),
            "Ready is Unknown: BuildRunning",
        ),
        (
            "kpack.io/v1alpha2",
            "Image",
            observed(one("Ready", "False", "BuildFailed", "the build failed"), 2),
            "failed: BuildFailed: the build failed",
        ),
        (
            "kpack.io/v1alpha2",
            "Image",
            observed(one("Ready", "True", "", ""), 2),
            "done: Ready",
        ),
        (
            "kpack.io/v1alpha2",
            "Build",
            one("Succeeded", "False", "", "step failed"),
            "failed: Failed: step failed",
        ),
        // Tekton
        ("tekton.dev/v1", "PipelineRun", json!({}), unreported),
        (
            "tekton.dev/v1",
            "PipelineRun",
            one("Succeeded", "Unknown", "Running", "Tasks Completed: 0"),
            "Succeeded is Unknown: Running: Tasks Completed: 0",
        ),
        (
            "tekton.dev/v1",
            "PipelineRun",
            one("Succeeded", "True", "Succeeded", ""),
            "done: Succeeded",
        ),
        (
            "tekton.dev/v1",
            "TaskRun",
            one("Succeeded", "False", "TaskRunTimeout", "too slow"),
            "failed: TaskRunTimeout: too slow",
        ),
        // Flux
        (
            "source.toolkit.fluxcd.io/v1",
            "GitRepository",
            json!({"observedGeneration": -1}),
            behind.replace("generation 1", "generation -1").leak(),
        ),
        (
            "source.toolkit.fluxcd.io/v1",
            "GitRepository",
            json!({"observedGeneration": 2}),
            unreported,
        ),
        (
            "kustomize.toolkit.fluxcd.io/v1",
            "Kustomization",
            flux("Unknown", "Reconciling"),
            "Reconciling is True: R: m",
        ),
        (
            "kustomize.toolkit.fluxcd.io/v1",
            "Kustomization",
            flux("False", "Stalled"),
            "failed: R: m",
        ),
        (
            "kustomize.toolkit.fluxcd.io/v1",
            "Kustomization",
            flux("False", "Healthy"),
            "Ready is False: ReadyReason: ready",
        ),
        (
            "kustomize.toolkit.fluxcd.io/v1",
            "Kustomization",
            flux("True", "Healthy"),
            "done: Ready",
        ),
        // cert-manager
        ("cert-manager.io/v1", "Certificate", json!(null), unreported),
        (
            "cert-manager.io/v1",
            "Certificate",
            cert("False", 2),
            "Ready is False: DoesNotExist: issuing",
        ),
        (
            "cert-manager.io/v1",
            "Certificate",
            cert("True", 1),
            "its condition Ready is not yet about generation 2",
        ),
        (
            "cert-manager.io/v1",
            "Certificate",
            cert("True", 2),
            "done: Ready",
        ),
        // Knative
        (
            "serving.knative.dev/v1",
            "Service",
            observed(one("Ready", "False", "RevisionFailed", "no image"), 2),
            "failed: RevisionFailed: no image",
        ),
        (
            "serving.knative.dev/v1",
            "Service",
            observed(one("Ready", "Unknown", "", ""), 2),
            "Ready is Unknown",
        ),
        // Crossplane, Cluster API and the like
        (
            "infra.example.com/v1",
            "Cluster",
            one("Ready", "False", "Creating", "no nodes"),
            "Ready is False: Creating: no nodes",
        ),
        // A status that says something else
        (
            "example.com/v1",
            "Thing",
            json!({"url": "https://x"}),
            "done: Applied",
        ),
        (
            "example.com/v1",
            "Thing",
            json!({"conditions": []}),
            unreported,
        ),
    ];
    for (api_version, kind, status, words) in cases {
        let verdict = judge(&object(api_version, kind, 2, &status), &rules());
        assert_eq!(verdict.to_string(), words, "{kind} {status}");
    }
}

#[test]
fn objects_without_a_status_subresource_are_done_at_once() {
    let map = object("v1", "ConfigMap", 0, &json!(null));
    let done = ObjectVerdict::Done {
        reason: "Applied".to_owned(),
    };
    assert_eq!(judge(&map, &StatusRules::default()), done);
}

#[test]
fn an_object_that_goes_or_was_replaced_has_failed() {
    let mut image = object(
        "kpack.io/v1alpha2",
        "Image",
        1,
        &one("Ready", "True", "", ""),
    );
    let other = StatusRules {
        uid: Some("u0".to_owned()),
        ..rules()
    };
    let words = judge(&image, &other).to_string();
    assert_eq!(
        words,
        "failed: Replaced: it was deleted, and another object has its name"
    );
    let same = StatusRules {
        uid: Some("u1".to_owned()),
        ..rules()
    };
    assert_eq!(judge(&image, &same).to_string(), "done: Ready");
    image["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let words = judge(&image, &same).to_string();
    assert_eq!(words, "failed: Deleted: it is being deleted");
}

#[test]
fn the_callers_tests_come_before_the_kinds_rules() {
    let status = |latest: &str| {
        json!({"observedGeneration": 2, "latestImage": latest, "ready": 3, "ok": true, "conditions": [
            {"type": "Ready", "status": "False", "reason": "BuildFailed", "message": "no"},
            {"type": "Old", "status": "True", "observedGeneration": 1},
        ]})
    };
    let image = object("kpack.io/v1alpha2", "Image", 2, &status("r/app@sha256:1"));
    for (until, fail, words) in [
        (
            json!([{"path": "status.latestImage", "exists": true}]),
            json!([]),
            "done: until",
        ),
        (
            json!([{"path": "status.latestImage", "exists": false}]),
            json!([]),
            "waiting until status.latestImage does not exist; now: status.latestImage is \"r/app@sha256:1\"",
        ),
        (
            json!([{"path": "status.ready", "at_least": 3}]),
            json!([]),
            "done: until",
        ),
        (
            json!([{"path": "status.ready", "at_least": 4}]),
            json!([]),
            "waiting until status.ready is at least 4; now: status.ready is 3",
        ),
        (
            json!([{"path": "status.ready", "equals": "3"}, {"path": "status.ok", "equals": "true"}]),
            json!([]),
            "done: until",
        ),
        (
            json!([{"path": "status.conditions[type=Ready].reason", "equals": "BuildFailed"}]),
            json!([]),
            "done: until",
        ),
        (
            json!([{"condition": "Ready"}]),
            json!([]),
            "waiting until condition Ready is True; now: Ready is False: BuildFailed: no",
        ),
        (
            json!([{"condition": "None"}]),
            json!([]),
            "waiting until condition None is True; now: not reported",
        ),
        (
            json!([{"condition": "Ready"}]),
            json!([{"condition": "Ready", "status": false}]),
            "failed: condition Ready is False: Ready is False: BuildFailed: no",
        ),
        (
            json!([{"condition": "Old"}]),
            json!([]),
            "its condition Old is not yet about generation 2",
        ),
        (
            json!([]),
            json!([{"path": "status.gone", "exists": true}]),
            "failed: BuildFailed: no",
        ),
    ] {
        let tests = |list: Value| list.as_array().unwrap().iter().cloned().map(test).collect();
        let asked = StatusRules {
            until: tests(until.clone()),
            fail: tests(fail),
            ..rules()
        };
        assert_eq!(judge(&image, &asked).to_string(), words, "{until}");
    }
}

#[test]
fn the_last_generations_answer_is_not_taken_for_this_ones() {
    let image = object(
        "x.example.com/v1",
        "X",
        3,
        &observed(one("Ready", "True", "", ""), 2),
    );
    let mut asked = StatusRules {
        until: vec![test(json!({"condition": "Ready"}))],
        fail: vec![test(json!({"condition": "Ready"}))],
        ..rules()
    };
    let words = "its status is about generation 2, and it has generation 3";
    assert_eq!(judge(&image, &asked).to_string(), words);
    asked.fail.clear();
    asked.ignore_generation = true;
    assert_eq!(judge(&image, &asked).to_string(), "done: until");
}

#[test]
fn what_is_no_test_is_refused() {
    for form in [
        json!({}),
        json!({"condition": "Ready", "path": "a", "exists": true}),
        json!({"path": "a"}),
        json!({"path": "a", "exists": true, "equals": 1}),
        json!({"condition": "Ready", "exists": true}),
        json!({"path": "a..b", "exists": true}),
    ] {
        let read: FieldTestForm = serde_json::from_value(form.clone()).unwrap();
        assert!(FieldTest::try_from(read).is_err(), "{form}");
    }
    assert!(serde_json::from_value::<FieldTestForm>(json!({"unknown": 1})).is_err());
}

#[test]
fn texts_of_objects_are_cut_and_shown_on_one_line() {
    let long = "x".repeat(5000);
    let status = one(
        "Succeeded",
        "False",
        "Bad\u{1b}[31m",
        &format!("a\nb{long}"),
    );
    let verdict = judge(&object("tekton.dev/v1", "TaskRun", 1, &status), &rules());
    let ObjectVerdict::Failed { reason, message } = verdict else {
        panic!("{verdict}");
    };
    assert_eq!(reason, "Bad [31m");
    assert!(message.starts_with("a bxx") && message.chars().count() == 1000);
}
