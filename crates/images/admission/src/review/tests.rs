use airside_image_rules::{ImageSet, label};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::*;
use crate::view::Counts;

const DIGEST: &str = "sha256:1111111111111111111111111111111111111111111111111111111111111111";

fn view(placement: Value) -> View {
    let set: ImageSet = serde_json::from_value(json!({
        "apiVersion": "images.airside.dev/v1alpha1",
        "kind": "ImageSet",
        "metadata": {"name": "s", "namespace": "team"},
        "spec": {"images": [{"image": "app:1"}], "placement": placement},
        "status": {"images": [{"image": "app:1", "digest": DIGEST, "state": "found"}]},
    }))
    .unwrap();
    View::new([&set].into_iter(), "home", &Counts::new())
}

fn prefer() -> View {
    view(json!({"mode": "prefer"}))
}

fn label() -> String {
    label::key(&format!("app@{DIGEST}").parse().unwrap())
}

fn question(kind: &str, operation: &str, object: &Value, old: &Value) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u-1",
            "kind": {"group": "", "version": "v1", "kind": kind},
            "resource": {"group": "", "version": "v1", "resource": "x"},
            "operation": operation,
            "namespace": "team",
            "userInfo": {},
            "object": object,
            "oldObject": old,
        },
    })
}

fn answered(question: &Value, view: &View) -> Value {
    let answer = answer(
        &serde_json::to_vec(question).unwrap(),
        view,
        &Rules::default(),
    )
    .unwrap();
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(answer["apiVersion"], "admission.k8s.io/v1");
    assert_eq!(answer["kind"], "AdmissionReview");
    assert_eq!(answer["response"]["uid"], "u-1");
    assert_eq!(answer["response"]["allowed"], true);
    answer["response"].clone()
}

/// Applies the answer like the API server.
fn patched(question: &Value, view: &View) -> Value {
    let response = answered(question, view);
    let mut object = question["request"]["object"].clone();
    if let Some(patch) = response["patch"].as_str() {
        assert_eq!(response["patchType"], "JSONPatch");
        let patch: json_patch::Patch =
            serde_json::from_slice(&STANDARD.decode(patch).unwrap()).unwrap();
        json_patch::patch(&mut object, &patch).unwrap();
    }
    object
}

fn template_of(image: &str) -> Value {
    json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": image}]}})
}

fn deployment(image: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template_of(image)}})
}

#[test]
fn fields_that_nobody_knows_stay() {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {
        "containers": [{"name": "a", "image": "app:1", "fromTheFuture": {"x": 1}}],
        "alsoFromTheFuture": true,
        "affinity": {"newAffinity": [1]},
    }});
    let after = patched(&question("Pod", "CREATE", &pod, &Value::Null), &prefer());
    assert_eq!(
        after["spec"]["containers"][0]["fromTheFuture"],
        json!({"x": 1})
    );
    assert_eq!(
        after["spec"]["containers"][0]["imagePullPolicy"],
        "IfNotPresent"
    );
    assert_eq!(after["spec"]["alsoFromTheFuture"], true);
    assert_eq!(after["spec"]["affinity"]["newAffinity"], json!([1]));
    let terms = &after["spec"]["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"];
    assert_eq!(
        terms[0]["preference"]["matchExpressions"][0]["key"],
        label()
    );
    // And again, as the API server asks again where others changed the pod in between.
    let again = question("Pod", "CREATE", &after, &Value::Null);
    assert_eq!(answered(&again, &prefer())["patch"], Value::Null);
}

#[test]
fn what_is_none_of_ours_gets_no_patch() {
    let stranger = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a", "image": "other"}]}});
    let ours = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a", "image": "app:1"}]}});
    let mut elsewhere = question("Pod", "CREATE", &ours, &Value::Null);
    elsewhere["request"]["namespace"] = json!("another");
    for asked in [
        question("Pod", "CREATE", &stranger, &Value::Null),
        question("Pod", "UPDATE", &ours, &ours),
        question("Service", "CREATE", &ours, &Value::Null),
        question("Pod", "CREATE", &Value::Null, &Value::Null),
        // A broken object is the API server's to refuse.
        question(
            "Pod",
            "CREATE",
            &json!({"spec": {"containers": 7}}),
            &Value::Null,
        ),
        elsewhere,
    ] {
        let response = answered(&asked, &prefer());
        assert_eq!(response["patch"], Value::Null, "{asked}");
    }
}

#[test]
fn what_is_no_review_is_an_error() {
    for body in ["", "{}", "[]", "{\"apiVersion\": \"v1\"", "\u{0}"] {
        answer(body.as_bytes(), &prefer(), &Rules::default()).unwrap_err();
    }
}

#[test]
fn containers_that_are_added_to_a_pod() {
    let spec = |containers: Value| {
        json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a", "image": "app:1", "imagePullPolicy": "Always"}],
            "nodeName": "n1", "ephemeralContainers": containers}})
    };
    let (old, new) = (
        spec(json!([])),
        spec(json!([{"name": "e", "image": "app:1", "imagePullPolicy": "Always"}])),
    );
    let mut asked = question("Pod", "UPDATE", &new, &old);
    asked["request"]["subResource"] = json!("ephemeralcontainers");
    let after = patched(&asked, &prefer());
    assert_eq!(
        after["spec"]["ephemeralContainers"][0]["imagePullPolicy"],
        "IfNotPresent"
    );
    assert_eq!(after["spec"]["containers"], new["spec"]["containers"]);
    assert_eq!(after["spec"]["affinity"], Value::Null);
}

#[test]
fn templates_are_placed_when_they_change_and_not_otherwise() {
    let new = deployment("app:1");
    let placed = patched(
        &question("Deployment", "CREATE", &new, &Value::Null),
        &prefer(),
    );
    let terms = "/spec/template/spec/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution/0";
    assert!(placed.pointer(terms).is_some(), "{placed}");
    // An update of the scale leaves the template alone, even if its images have moved.
    let mut scaled = new.clone();
    scaled["spec"]["replicas"] = json!(3);
    let asked = question("Deployment", "UPDATE", &scaled, &new);
    assert_eq!(answered(&asked, &prefer())["patch"], Value::Null);
    // Another image is another template.
    let asked = question("Deployment", "UPDATE", &new, &deployment("other"));
    assert_eq!(patched(&asked, &prefer()), placed);
}

#[test]
fn a_job_is_placed_when_it_is_made_and_never_later() {
    let job = json!({"metadata": {"name": "j"}, "spec": {"template": template_of("app:1")}});
    let made = patched(&question("Job", "CREATE", &job, &Value::Null), &prefer());
    assert!(made.pointer("/spec/template/spec/affinity").is_some());
    let asked = question("Job", "UPDATE", &job, &Value::Null);
    assert_eq!(answered(&asked, &prefer())["patch"], Value::Null);
    let cron = json!({"metadata": {"name": "c"}, "spec": {"schedule": "@daily",
        "jobTemplate": {"spec": {"template": template_of("app:1")}}}});
    let made = patched(
        &question("CronJob", "CREATE", &cron, &Value::Null),
        &prefer(),
    );
    assert!(
        made.pointer("/spec/jobTemplate/spec/template/spec/affinity")
            .is_some()
    );
}

#[test]
fn a_digest_comes_into_a_template_only_where_it_was_asked_for() {
    for (pin, image) in [
        (false, "app:1".to_owned()),
        (true, format!("app:1@{DIGEST}")),
    ] {
        let view = view(json!({"mode": "prefer", "pinDigest": pin}));
        let asked = question(
            "StatefulSet",
            "CREATE",
            &json!({"metadata": {"name": "s"}, "spec": {
            "serviceName": "s", "selector": {}, "template": template_of("app:1")}}),
            &Value::Null,
        );
        let made = patched(&asked, &view);
        assert_eq!(
            made.pointer("/spec/template/spec/containers/0/image"),
            Some(&json!(image))
        );
    }
}

#[test]
fn names_are_moved_only_if_asked_for_and_not_those_on_nodes() {
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [
        {"name": "a", "image": "app:1"}, {"name": "b", "image": "other"}]}});
    let rules = Rules {
        rewrite: Some("inside:5000".parse().unwrap()),
    };
    let asked = serde_json::to_vec(&question("Pod", "CREATE", &pod, &Value::Null)).unwrap();
    let answer: Value =
        serde_json::from_slice(&answer(&asked, &prefer(), &rules).unwrap()).unwrap();
    let patch = STANDARD
        .decode(answer["response"]["patch"].as_str().unwrap())
        .unwrap();
    let text = String::from_utf8(patch).unwrap();
    assert!(
        text.contains("inside:5000/docker.io/library/other:latest"),
        "{text}"
    );
    assert!(
        !text.contains("inside:5000/docker.io/library/app"),
        "{text}"
    );
}
