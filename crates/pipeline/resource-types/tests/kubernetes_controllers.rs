//! `kubernetes` beside a scripted stand-in for kpack's controller, an API server that is killed
//! again and again, and objects, logs and refusals of hostile size.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod common;

use std::{
    fs,
    sync::atomic::{AtomicUsize, Ordering},
};

use common::{
    Ran, Type,
    http::Response,
    kube_server::{JOB_PATH, JOBS_PATH, KubeServer, answer, events, job, job_source, refusal},
};
use serde_json::{Value, json};
use tempfile::tempdir;

const KUBERNETES: Type = Type("kubernetes");
const IMAGE: &str =
    "apiVersion: kpack.io/v1alpha2\nkind: Image\nmetadata: {name: app}\nspec: {n: 1}\n";
const IMAGE_PATH: &str = "/apis/kpack.io/v1alpha2/namespaces/ns/images/app";
const JOB: &str = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {n: 1}\n";

fn put(text: &str, source: Value, more: Value) -> Ran {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("a.yml"), text).unwrap();
    let mut params = json!({"manifests": ["a.yml"], "follow": false, "timeout": "60s"});
    for (key, value) in more.as_object().unwrap() {
        params[key] = value.clone();
    }
    KUBERNETES.push(folder.path(), json!({"source": source, "params": params}))
}

/// An image of kpack at a version of the cluster: its generation, the generation that the
/// controller has seen, its readiness, and the digest of the image that was built last.
fn image(version: u32, generation: i64, observed: i64, ready: &str, digest: &str) -> Value {
    json!({
        "apiVersion": "kpack.io/v1alpha2", "kind": "Image",
        "metadata": {"name": "app", "namespace": "ns", "uid": "i", "generation": generation,
                     "resourceVersion": version.to_string(), "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {},
        "status": {
            "observedGeneration": observed, "latestImage": format!("registry/app@sha256:{digest}"),
            "conditions": [{"type": "Ready", "status": ready, "reason": "BuildFailed", "message": "step build failed"}],
        },
    })
}

fn kpack(
    answer_image: impl Fn(&str, &str) -> Option<Response> + Send + Sync + 'static,
) -> KubeServer {
    KubeServer::start(
        move |request, _| match (request.method.as_str(), request.path()) {
            ("GET", "/apis/kpack.io/v1alpha2") => {
                let kind = |name: &str| json!({"name": name, "kind": "Image", "namespaced": true});
                Some(answer(
                    200,
                    &json!({"resources": [kind("images"), kind("images/status")]}),
                ))
            }
            (method, path) => answer_image(method, path),
        },
    )
}

fn image_source(server: &KubeServer) -> Value {
    server.source(json!({
        "kind": "Image.kpack.io/v1alpha2", "name": "app", "version": {"image": "status.latestImage"},
    }))
}

#[test]
fn a_build_of_kpack_is_waited_for_across_generations() {
    // What was built for the first generation is ready; the put makes the second one.
    let server = kpack(|method, path| match (method, path) {
        ("PATCH", IMAGE_PATH) => Some(answer(200, &image(1, 2, 1, "True", "old"))),
        ("GET", "/apis/kpack.io/v1alpha2/namespaces/ns/images") => Some(events(&[
            ("MODIFIED", image(2, 2, 1, "True", "old")),
            ("MODIFIED", image(3, 2, 2, "Unknown", "old")),
            ("MODIFIED", image(4, 2, 2, "True", "new")),
        ])),
        _ => None,
    });
    let ran = put(IMAGE, image_source(&server), json!({}));
    assert!(
        ran.log
            .contains("about generation 1, and it has generation 2"),
        "{}",
        ran.log
    );
    assert_eq!(
        ran.ok()["version"],
        json!({"image": "registry/app@sha256:new"})
    );
}

#[test]
fn a_failing_build_of_kpack_fails_the_put() {
    let server = kpack(|method, path| match (method, path) {
        ("PATCH", IMAGE_PATH) => Some(answer(200, &image(1, 2, 1, "False", "old"))),
        ("GET", "/apis/kpack.io/v1alpha2/namespaces/ns/images") => {
            Some(events(&[("MODIFIED", image(2, 2, 2, "False", "old"))]))
        }
        _ => None,
    });
    put(IMAGE, image_source(&server), json!({}))
        .fails_with("images.kpack.io/app in ns has failed: BuildFailed: step build failed");
}

#[test]
fn the_same_digest_twice_is_no_new_version_and_what_is_not_built_is_none() {
    let looked = AtomicUsize::new(0);
    let server = kpack(move |method, path| {
        ((method, path) == ("GET", IMAGE_PATH)).then(|| {
            let seen = match looked.fetch_add(1, Ordering::Relaxed) {
                0 => image(1, 1, 1, "True", "same"),
                // Built anew, with the same result.
                1 => image(2, 2, 2, "True", "same"),
                2 => image(3, 3, 2, "True", "same"),
                3 => image(4, 3, 3, "False", "same"),
                _ => image(5, 4, 4, "True", "other"),
            };
            answer(200, &seen)
        })
    });
    let check = |given: &Value| {
        let source = image_source(&server);
        KUBERNETES
            .check(json!({"source": source, "version": given}))
            .ok()
    };
    let same = json!({"image": "registry/app@sha256:same"});
    assert_eq!(check(&Value::Null), json!([same]));
    assert_eq!(check(&same), json!([same]), "built anew");
    assert_eq!(check(&same), json!([]), "a build goes on");
    assert_eq!(check(&same), json!([]), "the build failed");
    assert_eq!(
        check(&same),
        json!([{"image": "registry/app@sha256:other"}])
    );
}

#[test]
fn an_api_server_that_is_killed_twenty_times_is_waited_for() {
    const KILLS: usize = 20;
    let server =
        KubeServer::start(
            |request, number| match (request.method.as_str(), request.path()) {
                ("PATCH", JOB_PATH) => Some(answer(201, &job(1, None))),
                ("GET", JOBS_PATH) if number > 2 * KILLS => {
                    Some(events(&[("MODIFIED", job(9, Some(("Complete", ""))))]))
                }
                // It is there for a moment, and is killed in the middle of a line.
                ("GET", JOBS_PATH) if number % 2 == 1 => {
                    let started = events(&[
                        ("BOOKMARK", json!({"metadata": {"resourceVersion": "3"}})),
                        ("MODIFIED", job(4, None)),
                    ]);
                    let cut = started.body.len() - 20;
                    Some(Response {
                        cut: Some(cut),
                        ..started
                    })
                }
                // It does not listen.
                ("GET", JOBS_PATH) => Some(Response {
                    cut: Some(0),
                    ..answer(200, &json!({"long": "enough"}))
                }),
                _ => None,
            },
        );
    let ran = put(JOB, job_source(&server), json!({}));
    assert_eq!(
        server.made("PATCH", "").len(),
        1,
        "nothing is applied twice"
    );
    assert_eq!(ran.ok()["version"]["result"], "Complete");
}

/// The API server judges namespaces and kinds, and its words are shown.
#[test]
fn hostile_manifests_for_other_places_are_refused_in_the_api_servers_words() {
    let server = KubeServer::start(
        |request, _| match (request.method.as_str(), request.path()) {
            ("GET", "/apis/rbac.authorization.k8s.io/v1") => Some(answer(
                200,
                &json!({"resources": [
                    {"name": "clusterroles", "kind": "ClusterRole", "namespaced": false},
                ]}),
            )),
            ("PATCH", path) => {
                let words = format!("deployer may not change {path}");
                Some(refusal(403, "Forbidden", &words, json!({})))
            }
            _ => None,
        },
    );
    for (text, place) in [
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: kube-system}\n",
            "/api/v1/namespaces/kube-system/configmaps/a",
        ),
        (
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\nrules: []\n",
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/a",
        ),
    ] {
        let text = format!("{text}---\n{JOB}");
        put(&text, job_source(&server), json!({}))
            .fails_with(&format!("deployer may not change {place}"));
    }
    // A name cannot lead to another object.
    let odd = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ../secrets/a}\n";
    assert_eq!(
        put(&format!("{odd}---\n{JOB}"), job_source(&server), json!({})).status,
        1
    );
    assert!(server.made("PATCH", "/secrets/").is_empty());
}

#[test]
fn hostile_logs_are_cut_at_fifty_megabytes() {
    let pod = json!({
        "metadata": {"name": "a-1", "namespace": "ns", "uid": "p", "creationTimestamp": "2026-01-01T00:00:01Z"},
        "status": {"phase": "Running", "containerStatuses": [{"name": "main", "state": {"running": {}}}]},
    });
    let list = json!({ "items": [pod] });
    let server =
        KubeServer::start(
            move |request, number| match (request.method.as_str(), request.path()) {
                ("PATCH", JOB_PATH) => Some(answer(201, &job(1, None))),
                ("GET", JOBS_PATH) => Some(events(&[("MODIFIED", job(2, Some(("Complete", ""))))])),
                ("GET", "/api/v1/namespaces/ns/pods")
                    if request.query().contains("watch") && number == 1 =>
                {
                    Some(events(&[("ADDED", pod.clone())]))
                }
                ("GET", "/api/v1/namespaces/ns/pods") if !request.query().contains("watch") => {
                    Some(answer(200, &list))
                }
                ("GET", "/api/v1/namespaces/ns/pods/a-1/log") => {
                    let line = format!("{}\n", "x".repeat(9_999));
                    Some(Response::new(200, line.repeat(6_000)))
                }
                _ => None,
            },
        );
    let ran = put(JOB, job_source(&server), json!({"follow": true}));
    assert!(
        ran.log
            .contains("50 MB of logs were shown; the rest is not"),
        "{} bytes",
        ran.log.len()
    );
    assert!(ran.log.len() < 54 << 20, "{} bytes", ran.log.len());
    assert!(ran.log.len() > 50 << 20, "{} bytes", ran.log.len());
    ran.ok();
}
