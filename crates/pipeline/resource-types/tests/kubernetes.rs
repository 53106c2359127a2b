//! `kubernetes` against API servers that fail: what a real one does is tested in
//! `kubernetes_cluster.rs`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod common;

use std::{
    fs,
    process::{Command, Stdio},
    sync::{Mutex, mpsc},
    time::{Duration, Instant},
};

use common::{
    Ran, Type,
    http::Response,
    kube_server::{JOB_PATH, JOBS_PATH, KubeServer, answer, events, job, job_source, refusal},
};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

const KUBERNETES: Type = Type("kubernetes");
const JOB: &str = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {n: 1}\n";

fn folder(text: &str) -> TempDir {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("a.yml"), text).unwrap();
    folder
}

fn put(text: &str, source: Value, more: Value) -> Ran {
    let folder = folder(text);
    let mut params = json!({"manifests": ["a.yml"], "follow": false, "timeout": "20s"});
    for (key, value) in more.as_object().unwrap() {
        params[key] = value.clone();
    }
    KUBERNETES.push(folder.path(), json!({"source": source, "params": params}))
}

/// A server whose job is applied and watched as this closure answers.
fn server_of_a_job(watch: impl Fn(usize, &str) -> Response + Send + Sync + 'static) -> KubeServer {
    KubeServer::start(
        move |request, number| match (request.method.as_str(), request.path()) {
            ("PATCH", JOB_PATH) => Some(answer(201, &job(1, None))),
            ("GET", JOB_PATH) => Some(answer(200, &job(5, None))),
            ("GET", JOBS_PATH) => Some(watch(number, request.query())),
            _ => None,
        },
    )
}

#[test]
fn a_put_applies_watches_and_tells_the_version() {
    let server = server_of_a_job(|_, _| events(&[("MODIFIED", job(2, Some(("Complete", ""))))]));
    let ran = put(JOB, job_source(&server), json!({"set": {"spec.n": 7}}));
    assert!(
        ran.log.contains("created jobs.batch/a in ns"),
        "{}",
        ran.log
    );
    let version = json!({"uid": "u", "generation": "1", "result": "Complete"});
    assert_eq!(ran.ok()["version"], version);

    let applied = &server.made("PATCH", "")[0];
    assert_eq!(applied.target, format!("{JOB_PATH}?fieldManager=airside"));
    assert_eq!(applied.body["spec"]["n"], 7);
    let watched = &server.made("GET", "watch=true")[0].target;
    assert!(
        watched.contains("resourceVersion=1&fieldSelector=metadata.name%3Da"),
        "{watched}"
    );
    assert!(
        watched.contains("allowWatchBookmarks=true&timeoutSeconds=45"),
        "{watched}"
    );
    // Discovery, four reviews, one apply, one watch.
    assert_eq!(server.count(), 7);
}

#[test]
fn watches_that_are_cut_or_expired_begin_again() {
    let server = server_of_a_job(|number, query| match number {
        // A cut in the middle of a line.
        1 => Response {
            cut: Some(20),
            ..events(&[("MODIFIED", job(2, None))])
        },
        2 => refusal(503, "ServiceUnavailable", "away", json!({})),
        3 => events(&[("BOOKMARK", json!({"metadata": {"resourceVersion": "3"}}))]),
        4 => {
            assert!(query.contains("resourceVersion=3&"), "{query}");
            events(&[(
                "ERROR",
                json!({"kind": "Status", "code": 410, "reason": "Expired"}),
            )])
        }
        // The object was read again.
        5 => {
            assert!(query.contains("resourceVersion=5&"), "{query}");
            refusal(410, "Expired", "too old", json!({}))
        }
        _ => events(&[("MODIFIED", job(6, Some(("Complete", ""))))]),
    });
    let ran = put(JOB, job_source(&server), json!({}));
    assert!(
        ran.log.contains("the API server has trouble: away"),
        "{}",
        ran.log
    );
    ran.ok();
    assert_eq!(
        server.made("PATCH", "").len(),
        1,
        "nothing is applied twice"
    );
    assert_eq!(server.made("GET", JOB_PATH).len(), 2);
}

#[test]
fn a_failed_object_fails_the_put_with_its_reason() {
    let server = server_of_a_job(|_, _| {
        events(&[("MODIFIED", job(2, Some(("Failed", "BackoffLimitExceeded"))))])
    });
    put(JOB, job_source(&server), json!({}))
        .fails_with("jobs.batch/a in ns has failed: BackoffLimitExceeded: m");
}

#[test]
fn an_object_that_is_deleted_fails_the_put() {
    let server = server_of_a_job(|_, _| events(&[("DELETED", job(2, None))]));
    put(JOB, job_source(&server), json!({}))
        .fails_with("has failed: Deleted: another client has deleted it");
    // Gone while the watch was cut.
    let server = KubeServer::start(
        |request, _| match (request.method.as_str(), request.path()) {
            ("PATCH", JOB_PATH) => Some(answer(200, &job(1, None))),
            ("GET", JOBS_PATH) => Some(refusal(410, "Expired", "too old", json!({}))),
            ("GET", JOB_PATH) => Some(refusal(
                404,
                "NotFound",
                "jobs.batch \"a\" not found",
                json!({"name": "a", "kind": "jobs"}),
            )),
            _ => None,
        },
    );
    put(JOB, job_source(&server), json!({}))
        .fails_with("has failed: Deleted: another client has deleted it");
}

#[test]
fn a_timeout_says_what_was_waited_for() {
    let server =
        server_of_a_job(|_, _| refusal(403, "Forbidden", "watch was taken away", json!({})));
    let ran = put(JOB, job_source(&server), json!({"timeout": "1s"}));
    ran.fails_with(
        "jobs.batch/a in ns is not done after 1 seconds: 0 of 1 pods have succeeded, 0 run, 0 have failed; and the API \
         server cannot be asked: watch was taken away",
    );
}

#[test]
fn each_missing_right_has_a_line() {
    let server = KubeServer::start(|request, _| {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let verb = body
            .pointer("/spec/resourceAttributes/verb")
            .and_then(Value::as_str);
        let named = body.pointer("/spec/resourceAttributes/name").is_some();
        let allowed = match verb? {
            "patch" => named,
            "create" | "watch" => false,
            _ => true,
        };
        Some(answer(201, &json!({"status": {"allowed": allowed}})))
    });
    put(JOB, job_source(&server), json!({})).fails_with(
        "missing right of ann: create jobs.batch in ns\nmissing right of ann: watch jobs.batch in ns (or a alone)\n",
    );
    assert!(server.made("PATCH", "").is_empty(), "nothing was changed");
}

#[test]
fn a_conflict_names_the_other_manager() {
    let causes = json!({"name": "a", "causes": [
        {"reason": "FieldManagerConflict", "message": "conflict with \"helm\"", "field": ".spec.n"},
    ]});
    let server = KubeServer::start(move |request, _| {
        let is_forced = request.query().contains("force=true");
        match (request.method.as_str(), is_forced) {
            ("PATCH", false) => Some(refusal(
                409,
                "Conflict",
                "Apply failed with 1 conflict",
                causes.clone(),
            )),
            ("PATCH", true) => Some(answer(200, &job(1, Some(("Complete", ""))))),
            _ => None,
        }
    });
    put(JOB, job_source(&server), json!({})).fails_with(
        "cannot apply jobs.batch/a in ns: .spec.n has a conflict with \"helm\". Take these fields",
    );
    put(JOB, job_source(&server), json!({"force_conflicts": true})).ok();
}

#[test]
fn an_object_with_a_generated_name_is_created_once() {
    let created: Mutex<Vec<Value>> = Mutex::default();
    let server = KubeServer::start(move |request, number| {
        let mut created = created.lock().unwrap();
        match (request.method.as_str(), request.path()) {
            ("POST", JOBS_PATH) if number == 1 => {
                created.push(serde_json::from_slice(&request.body).unwrap());
                // It was made, and the answer is lost.
                Some(Response {
                    cut: Some(0),
                    ..answer(201, &json!({"long": "enough"}))
                })
            }
            ("POST", JOBS_PATH) => Some(refusal(
                409,
                "AlreadyExists",
                "already exists",
                json!({"name": "a"}),
            )),
            ("GET", path) if path.starts_with(JOBS_PATH) => {
                let name = created.first()?.pointer("/metadata/name")?.as_str()?;
                assert_eq!(path, format!("{JOBS_PATH}/{name}"));
                Some(answer(200, &job(1, Some(("Complete", "")))))
            }
            _ => None,
        }
    });
    let text = JOB.replace("name: a", "generateName: run-");
    let source = server.source(json!({"kind": "Job.batch/v1"}));
    let version = put(&text, source, json!({})).ok()["version"].clone();
    assert_eq!(version["object"], "a");
    let made = server.made("POST", JOBS_PATH);
    assert_eq!(made.len(), 2);
    assert_eq!(
        made[0].body, made[1].body,
        "the second asks for the same object"
    );
    assert!(
        made[0].body["metadata"]["name"]
            .as_str()
            .unwrap()
            .starts_with("run-")
    );
}

#[test]
fn an_api_server_that_is_away_is_asked_again() {
    let server = KubeServer::start(|request, number| match (request.method.as_str(), number) {
        ("PATCH", 1) => Some(Response {
            cut: Some(0),
            ..answer(201, &json!({"long": "enough"}))
        }),
        ("PATCH", 2) => Some(refusal(503, "ServiceUnavailable", "starting", json!({}))),
        ("PATCH", _) => Some(answer(200, &job(1, Some(("Complete", ""))))),
        _ => None,
    });
    let ran = put(JOB, job_source(&server), json!({}));
    assert!(
        ran.log.contains("trying again until the put's timeout"),
        "{}",
        ran.log
    );
    ran.ok();
}

#[test]
fn mistakes_are_told_before_anything_is_applied() {
    let server = KubeServer::start(|_, _| None);
    for (text, words) in [
        ("a: [1\n", "a.yml, line 1: it is no YAML"),
        (
            "apiVersion: x.io/v1\nkind: Image\nmetadata: {name: a}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n",
            "a.yml, document 1: the cluster does not know the kind x.io/v1/Image; is its definition there?",
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
            "params.manifests have no batch/v1/Job that the source means",
        ),
    ] {
        put(text, job_source(&server), json!({})).fails_with(words);
    }
    put(
        JOB,
        job_source(&server),
        json!({"set": {"spec.list[0]": 1}}),
    )
    .fails_with("params.set cannot be done: a.yml, document 1: the object has no spec.list[0]");
    assert!(server.made("PATCH", "").is_empty());

    let exec = json!({
        "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": "https://h"}}],
        "users": [{"name": "u", "user": {"exec": {"command": "sh"}}}],
    });
    let source = json!({"kind": "Job.batch/v1", "name": "a", "kubeconfig": exec});
    put(JOB, source, json!({}))
        .fails_with("source.kubeconfig has the key \"exec\" in its user: programs are not run");
    put(JOB, json!({"kind": "Job.batch/v1", "name": "a"}), json!({}))
        .fails_with("there are no credentials for the cluster");
}

#[test]
fn logs_and_warnings_of_pods_are_shown_once() {
    let pod = json!({
        "metadata": {"name": "a-1", "namespace": "ns", "uid": "p", "creationTimestamp": "2026-01-01T00:00:01Z"},
        "status": {"phase": "Running", "containerStatuses": [{"name": "main", "state": {"running": {}}}]},
    });
    let warning = json!({
        "metadata": {"uid": "e", "creationTimestamp": "2026-01-01T00:00:02Z"}, "reason": "BackOff", "message": "again",
        "involvedObject": {"kind": "Pod", "name": "a-1", "uid": "p"},
    });
    let list = json!({"items": [pod]});
    let (log_read, log_was_read) = mpsc::channel();
    let (log_read, log_was_read) = (Mutex::new(log_read), Mutex::new(log_was_read));
    let server =
        KubeServer::start(
            move |request, number| match (request.method.as_str(), request.path()) {
                ("PATCH", JOB_PATH) => Some(answer(201, &job(1, None))),
                ("GET", JOBS_PATH) => {
                    let _ = log_was_read
                        .lock()
                        .unwrap()
                        .recv_timeout(Duration::from_secs(10));
                    Some(events(&[(
                        "MODIFIED",
                        job(2, Some(("Failed", "BackoffLimitExceeded"))),
                    )]))
                }
                ("GET", "/api/v1/namespaces/ns/events") if number == 1 => {
                    Some(events(&[("ADDED", warning.clone())]))
                }
                ("GET", "/api/v1/namespaces/ns/pods")
                    if request.query().contains("watch") && number == 1 =>
                {
                    Some(events(&[("ADDED", pod.clone()), ("MODIFIED", pod.clone())]))
                }
                ("GET", "/api/v1/namespaces/ns/pods") if !request.query().contains("watch") => {
                    Some(answer(200, &list))
                }
                ("GET", "/api/v1/namespaces/ns/pods/a-1/log") => {
                    log_read.lock().unwrap().send(()).unwrap();
                    Some(Response::new(200, "one\ntwo\n"))
                }
                _ => None,
            },
        );
    let ran = put(JOB, job_source(&server), json!({"follow": true}));
    assert_eq!(ran.status, 1);
    assert_eq!(
        ran.log.matches("[a-1/main] one\n[a-1/main] two\n").count(),
        1,
        "{}",
        ran.log
    );
    let words = "warning: Pod a-1: BackOff: again\n";
    assert_eq!(ran.log.matches(words).count(), 1, "{}", ran.log);
    assert!(
        ran.log
            .ends_with("has failed: BackoffLimitExceeded: m\n  Pod a-1: BackOff: again\n"),
        "{}",
        ran.log
    );
    assert_eq!(server.made("GET", "/log?").len(), 1);
}

#[test]
fn a_missing_right_to_follow_is_said_once() {
    let server = KubeServer::start(
        |request, _| match (request.method.as_str(), request.path()) {
            ("PATCH", JOB_PATH) => Some(answer(201, &job(1, None))),
            ("GET", JOBS_PATH) => {
                std::thread::sleep(Duration::from_millis(500));
                Some(events(&[("MODIFIED", job(2, Some(("Complete", ""))))]))
            }
            ("GET", "/api/v1/namespaces/ns/pods" | "/api/v1/namespaces/ns/events") => {
                Some(refusal(403, "Forbidden", "no", json!({})))
            }
            _ => None,
        },
    );
    let ran = put(JOB, job_source(&server), json!({"follow": true}));
    assert_eq!(
        ran.log.matches("pods cannot be followed: no").count(),
        1,
        "{}",
        ran.log
    );
    ran.ok();
}

#[test]
fn pruning_removes_what_the_group_no_longer_has() {
    let map = |name: &str, uid: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "uid": uid, "resourceVersion": "1"}});
    let list = json!({"items": [map("a", "u1"), map("old", "u2")]});
    let server = KubeServer::start(move |request, _| match request.method.as_str() {
        "PATCH" => Some(answer(200, &map("a", "u1"))),
        "DELETE" => Some(answer(200, &json!({}))),
        "GET" if request.query().contains("prune-group%3Dweb") => Some(answer(200, &list)),
        _ => None,
    });
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let source = server.source(json!({"kind": "ConfigMap/v1", "name": "a"}));
    let prune = json!({"prune": {"group": "web", "kinds": ["v1/ConfigMap"]}});
    let ran = put(text, source, prune);
    assert!(
        ran.log.contains("pruned configmaps/old in ns"),
        "{}",
        ran.log
    );
    ran.ok();
    let labels = &server.made("PATCH", "")[0].body["metadata"]["labels"];
    assert_eq!(labels["airside.dev/prune-group"], "web");
    let deleted = server.made("DELETE", "");
    assert_eq!(deleted.len(), 1);
    assert_eq!(deleted[0].body["preconditions"]["uid"], "u2");
}

/// The put of the next test, in a process of its own that can be signalled.
#[test]
#[expect(
    clippy::exit,
    reason = "the other test reads the status of this process"
)]
fn put_of_another_process() {
    let Ok(address) = std::env::var("AIRSIDE_TEST_PUT") else {
        return;
    };
    let source = json!({"kind": "Job.batch/v1", "name": "a", "namespace": "ns", "server": address, "token": "t"});
    let ran = put(JOB, source, json!({"on_abort": "delete"}));
    eprintln!("{}", ran.log);
    std::process::exit(ran.status);
}

#[test]
fn an_aborted_put_deletes_what_it_created() {
    let (watching, is_watched) = mpsc::channel();
    let watching = Mutex::new(watching);
    let server =
        KubeServer::start(
            move |request, _| match (request.method.as_str(), request.path()) {
                ("PATCH", JOB_PATH) => Some(answer(201, &job(1, None))),
                ("GET", JOBS_PATH) => {
                    let _ = watching.lock().unwrap().send(());
                    std::thread::sleep(Duration::from_secs(20));
                    None
                }
                ("DELETE", JOB_PATH) => Some(answer(200, &json!({}))),
                _ => None,
            },
        );
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["put_of_another_process", "--exact", "--nocapture"])
        .env("AIRSIDE_TEST_PUT", format!("http://{}", server.address))
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    is_watched.recv_timeout(Duration::from_secs(30)).unwrap();
    let begun = Instant::now();
    let status = Command::new("kill")
        .arg(child.id().to_string())
        .status()
        .unwrap();
    assert!(status.success());
    let ended = child.wait_with_output().unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(3),
        "{:?}",
        begun.elapsed()
    );
    let log = String::from_utf8(ended.stderr).unwrap();
    assert!(
        log.contains("the build was aborted\ndeleted jobs.batch/a in ns"),
        "{log}"
    );
    assert_eq!(ended.status.code(), Some(1));
    let deleted = server.made("DELETE", JOB_PATH);
    assert_eq!(deleted.len(), 1);
    assert_eq!(deleted[0].body["propagationPolicy"], "Background");
}

#[test]
fn many_lines_are_read_in_time() {
    let server = KubeServer::start(|_, _| None);
    let text = format!("{JOB}data: |\n{}", "  line\n".repeat(1_000_000));
    let begun = Instant::now();
    let ran = put(&text, job_source(&server), json!({}));
    assert_eq!(ran.status, 1);
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "{:?}",
        begun.elapsed()
    );
}
