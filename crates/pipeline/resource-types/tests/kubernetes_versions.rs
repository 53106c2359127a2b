//! `kubernetes`: checks and gets of what an API server answers.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod common;

use std::fs;

use common::{
    Ran, Type,
    kube_server::{JOB_PATH, JOBS_PATH, KubeServer, answer, job, job_source, refusal},
};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

const KUBERNETES: Type = Type("kubernetes");

#[test]
fn a_check_is_one_request() {
    let server = KubeServer::start(|request, _| {
        (request.path() == JOB_PATH).then(|| answer(200, &job(1, Some(("Complete", "")))))
    });
    let version = json!({"uid": "u", "generation": "1", "result": "Complete"});
    let check = |given: Value| {
        KUBERNETES
            .check(json!({"source": job_source(&server), "version": given}))
            .ok()
    };
    assert_eq!(check(Value::Null), json!([version]));
    assert_eq!(server.count(), 1);
    assert_eq!(check(version.clone()), json!([version]));

    let running = KubeServer::start(|_, _| Some(answer(200, &job(1, None))));
    let ran = KUBERNETES.check(json!({"source": job_source(&running)}));
    assert_eq!(ran.ok(), json!([]));
    let gone =
        KubeServer::start(|_, _| Some(refusal(404, "NotFound", "gone", json!({"name": "a"}))));
    assert_eq!(
        KUBERNETES.check(json!({"source": job_source(&gone)})).ok(),
        json!([])
    );
    let refused =
        KubeServer::start(|_, _| Some(refusal(403, "Forbidden", "jobs is forbidden", json!({}))));
    let ran = KUBERNETES.check(json!({"source": job_source(&refused)}));
    ran.fails_with("cannot read jobs: jobs is forbidden");
}

#[test]
fn a_check_by_labels_orders_by_the_time_of_being_done() {
    let done = |name: &str, time: &str| {
        json!({
            "metadata": {"name": name, "uid": name, "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"},
            "status": {"completionTime": time, "conditions": [{"type": "Complete", "status": "True"}]},
        })
    };
    let items = json!({"items": [
        done("b", "2026-01-03T00:00:00Z"), done("a", "2026-01-04T00:00:00Z"),
        {"metadata": {"name": "runs"}}, done("c", "2026-01-02T00:00:00Z"),
    ]});
    let server = KubeServer::start(move |request, _| {
        assert_eq!(
            request.target,
            format!("{JOBS_PATH}?labelSelector=team%3Dweb&limit=500")
        );
        Some(answer(200, &items))
    });
    let source = server.source(json!({"kind": "Job.batch/v1", "selector": {"team": "web"}}));
    let check = |given: Value| {
        let found = KUBERNETES
            .check(json!({"source": source, "version": given}))
            .ok();
        let found = found.as_array().unwrap().iter();
        found
            .map(|version| version["object"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(check(Value::Null), ["a"]);
    let given = json!({"uid": "b", "generation": "1", "result": "Complete", "object": "b"});
    assert_eq!(check(given), ["b", "a"]);
}

#[test]
fn a_kind_with_an_odd_plural_is_discovered() {
    let server = KubeServer::start(|request, _| match request.path() {
        "/apis/x.io/v1" => Some(answer(
            200,
            &json!({"resources": [{"name": "mice", "kind": "Mouse", "namespaced": false}]}),
        )),
        "/apis/x.io/v1/mice/a" => Some(answer(
            200,
            &json!({
                "apiVersion": "x.io/v1", "kind": "Mouse", "metadata": {"name": "a", "uid": "u", "generation": 3}, "tail": {"cm": 9},
            }),
        )),
        _ => None,
    });
    let source = server
        .source(json!({"kind": "Mouse.x.io/v1", "name": "a", "version": {"tail": "tail.cm"}}));
    let found = KUBERNETES.check(json!({"source": source})).ok();
    assert_eq!(found, json!([{"tail": "9"}]));
}

fn get(source: Value, version: Value, params: Value) -> (TempDir, Ran) {
    let folder = tempdir().unwrap();
    let request = json!({"source": source, "version": version, "params": params});
    let ran = KUBERNETES.fetch(folder.path(), request);
    (folder, ran)
}

fn read(folder: &TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap()
}

#[test]
fn a_get_writes_the_version_and_the_object() {
    let server = KubeServer::start(|_, _| Some(answer(200, &job(1, Some(("Complete", ""))))));
    let version = json!({"uid": "u", "generation": "1", "result": "until"});
    let outputs = json!({"outputs": {"why": "status.conditions[type=Complete].message"}});
    let (folder, ran) = get(job_source(&server), version.clone(), outputs.clone());
    ran.ok();
    assert_eq!(read(&folder, "uid"), "u");
    assert_eq!(read(&folder, "why"), "m");
    let object: Value = serde_json::from_str(&read(&folder, "object.json")).unwrap();
    assert_eq!(object["metadata"]["name"], "a");
    assert!(read(&folder, "object.yml").contains("kind: Job\n"));

    let mut other = version;
    other["generation"] = json!("0");
    let (folder, ran) = get(job_source(&server), other.clone(), json!({}));
    assert!(
        ran.log
            .contains("jobs.batch/a in ns has moved on; only the version is written"),
        "{}",
        ran.log
    );
    ran.ok();
    assert_eq!(read(&folder, "generation"), "0");
    assert!(!folder.path().join("object.json").exists());
    get(job_source(&server), other, outputs)
        .1
        .fails_with("params.outputs has \"why\": the object has moved on");
}

#[test]
fn a_secrets_data_is_left_out_unless_it_is_asked_for() {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "data": {"password": "aHVudGVyMg=="},
        "metadata": {"name": "a", "uid": "u", "resourceVersion": "7", "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": "aHVudGVyMg==", "x": "y",
        }},
    });
    let server = KubeServer::start(move |request, _| {
        request
            .path()
            .ends_with("/secrets/a")
            .then(|| answer(200, &secret))
    });
    let source = server.source(json!({"kind": "Secret/v1", "name": "a"}));
    let version = KUBERNETES.check(json!({"source": source})).ok()[0].clone();
    assert_eq!(
        version,
        json!({"uid": "u", "resourceVersion": "7", "result": "Applied"})
    );
    let (folder, ran) = get(source.clone(), version.clone(), json!({}));
    ran.ok();
    for file in ["object.json", "object.yml"] {
        assert!(!read(&folder, file).contains("aHVudGVyMg=="), "{file}");
    }
    let (folder, ran) = get(
        source,
        version,
        json!({"secrets": true, "outputs": {"password": "data.password"}}),
    );
    ran.ok();
    assert_eq!(read(&folder, "password"), "aHVudGVyMg==");
}
