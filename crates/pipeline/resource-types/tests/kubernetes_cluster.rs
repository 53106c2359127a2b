//! `kubernetes` against a real API server and its controllers: run with `AIRSIDE_TEST_CLUSTER=1`
//! and `KUBECONFIG` set. The nodes must hold the image `airside.local/busybox:dev`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod common;

use std::{fs, process::Command, thread, time::Duration};

use common::{Ran, Type};
use serde_json::{Value, json};
use tempfile::tempdir;

const KUBERNETES: Type = Type("kubernetes");
const BUSYBOX: &str = "airside.local/busybox:dev";

/// A namespace of the offered cluster that goes with this value.
struct Namespace {
    name: String,
    kubeconfig: String,
}

impl Namespace {
    /// Nothing where no cluster is offered.
    fn offered(test: &str) -> Option<Self> {
        if std::env::var("AIRSIDE_TEST_CLUSTER").as_deref() != Ok("1") {
            return None;
        }
        let path = std::env::var("KUBECONFIG").expect("KUBECONFIG names the cluster");
        let namespace = Self {
            name: format!("objects-{test}-{}", std::process::id()),
            kubeconfig: fs::read_to_string(path).unwrap(),
        };
        namespace.kubectl(&["create", "namespace", &namespace.name]);
        Some(namespace)
    }

    fn kubectl(&self, args: &[&str]) -> String {
        let output = Command::new("kubectl").args(args).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "kubectl {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        text
    }

    fn source(&self, kind: &str, more: Value) -> Value {
        let mut source =
            json!({"kind": kind, "namespace": self.name, "kubeconfig": self.kubeconfig});
        for (key, value) in more.as_object().unwrap() {
            source[key] = value.clone();
        }
        source
    }

    fn put(&self, source: &Value, manifests: &[Value], more: Value) -> Ran {
        let folder = tempdir().unwrap();
        let documents: Vec<String> = manifests.iter().map(Value::to_string).collect();
        fs::write(folder.path().join("all.yml"), documents.join("\n---\n")).unwrap();
        let mut params = json!({"manifests": ["all.yml"], "timeout": "2m"});
        for (key, value) in more.as_object().unwrap() {
            params[key] = value.clone();
        }
        KUBERNETES.push(folder.path(), json!({"source": source, "params": params}))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // A namespace that stays goes with the cluster.
        let args = ["delete", "namespace", &self.name, "--wait=false"];
        let _ = Command::new("kubectl").args(args).output();
    }
}

fn pod_spec(script: &str, restart: &str) -> Value {
    let container = json!({
        "name": "main", "image": BUSYBOX, "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/busybox", "sh", "-c", script],
    });
    json!({"restartPolicy": restart, "terminationGracePeriodSeconds": 0, "containers": [container]})
}

fn job(metadata: Value, script: &str) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata,
        "spec": {"backoffLimit": 0, "template": {"spec": pod_spec(script, "Never")}},
    })
}

fn deployment(name: &str, script: &str, image: &str) -> Value {
    let labels = json!({"app": name});
    let mut pod = pod_spec(script, "Always");
    pod["containers"][0]["image"] = json!(image);
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {
            "replicas": 1, "progressDeadlineSeconds": 10, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    })
}

#[test]
fn a_job_is_followed_to_its_end() {
    let Some(namespace) = Namespace::offered("job") else {
        return;
    };
    let source = namespace.source("Job.batch/v1", json!({"selector": {"team": "web"}}));
    let labelled = json!({"generateName": "good-", "labels": {"team": "web"}});
    let put = namespace.put(&source, &[job(labelled, "echo one; echo two")], json!({}));
    assert_eq!(put.log.matches("/main] one\n").count(), 1, "{}", put.log);
    assert_eq!(put.log.matches("/main] two\n").count(), 1, "{}", put.log);
    let version = put.ok()["version"].clone();
    assert_eq!(version["result"], "Complete");

    let checked = KUBERNETES.check(json!({"source": source})).ok();
    assert_eq!(checked, json!([version]));
    let folder = tempdir().unwrap();
    let params = json!({"outputs": {"done": "status.succeeded"}});
    KUBERNETES
        .fetch(
            folder.path(),
            json!({"source": source, "version": version, "params": params}),
        )
        .ok();
    assert_eq!(fs::read_to_string(folder.path().join("done")).unwrap(), "1");

    let named = namespace.source("Job.batch/v1", json!({"name": "bad"}));
    let failed = namespace.put(
        &named,
        &[job(json!({"name": "bad"}), "echo broken; exit 3")],
        json!({}),
    );
    assert!(failed.log.contains("/main] broken\n"), "{}", failed.log);
    failed.fails_with("has failed: BackoffLimitExceeded");
}

#[test]
fn a_deployment_rolls_out_and_the_next_generation_is_waited_for() {
    let Some(namespace) = Namespace::offered("rollout") else {
        return;
    };
    let source = namespace.source("Deployment.apps/v1", json!({"name": "web"}));
    let rounds = std::env::var("AIRSIDE_ROLLOUTS").ok();
    let rounds = rounds.map_or(5, |rounds| rounds.parse().unwrap());
    for round in 1..=rounds {
        let script = format!("echo round {round}; exec sleep 1000");
        let ran = namespace.put(&source, &[deployment("web", &script, BUSYBOX)], json!({}));
        assert!(
            ran.log.contains("about generation"),
            "round {round}: {}",
            ran.log
        );
        ran.ok();
        // The pods of this generation, and no others, are there.
        let deployed = namespace.kubectl(&[
            "-n",
            &namespace.name,
            "get",
            "deployment",
            "web",
            "-o",
            "json",
        ]);
        let deployed: Value = serde_json::from_str(&deployed).unwrap();
        let generation = &deployed["metadata"]["generation"];
        assert_eq!(deployed["status"]["observedGeneration"], *generation);
        assert_eq!(deployed["status"]["updatedReplicas"], 1, "{deployed}");
        assert_eq!(deployed["status"]["availableReplicas"], 1, "{deployed}");
    }
    // Applied again without a change, it is done at once.
    let script = format!("echo round {rounds}; exec sleep 1000");
    let again = deployment("web", &script, BUSYBOX);
    let ran = namespace.put(&source, &[again], json!({}));
    assert!(!ran.log.contains("replicas are"), "{}", ran.log);
    ran.ok();

    let broken = deployment("web", "true", "airside.local/none:dev");
    let ran = namespace.put(&source, &[broken], json!({}));
    assert!(ran.log.contains("warning: Pod web-"), "{}", ran.log);
    ran.fails_with("has failed: ProgressDeadlineExceeded");
}

#[test]
fn a_definition_and_its_object_are_one_put() {
    let Some(namespace) = Namespace::offered("definition") else {
        return;
    };
    let group = format!("{}.test.airside.dev", namespace.name);
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    });
    let thing = json!({"apiVersion": format!("{group}/v1"), "kind": "Thing", "metadata": {"name": "a"}, "spec": {"n": 1}});
    let source = namespace.source(
        &format!("Thing.{group}/v1"),
        json!({"name": "a", "version": {"url": "status.url"}}),
    );
    // Its controller is this thread: it reports after the put began to wait.
    let (name, kind) = (namespace.name.clone(), format!("things.{group}/a"));
    let controller = thread::spawn(move || {
        let status = r#"{"status":{"url":"https://a","observedGeneration":1,"conditions":[{"type":"Ready","status":"True"}]}}"#;
        for _ in 0..600 {
            let args = [
                "-n",
                &name,
                "patch",
                &kind,
                "--subresource=status",
                "--type=merge",
                "-p",
                status,
            ];
            if Command::new("kubectl")
                .args(args)
                .output()
                .unwrap()
                .status
                .success()
            {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
    });
    let ran = namespace.put(&source, &[thing, definition], json!({}));
    controller.join().unwrap();
    namespace.kubectl(&["delete", "crd", &format!("things.{group}"), "--wait=false"]);
    assert!(
        ran.log.contains("no controller has reported a status yet"),
        "{}",
        ran.log
    );
    assert_eq!(ran.ok()["version"], json!({"url": "https://a"}));
}

#[test]
fn another_managers_field_is_a_conflict() {
    let Some(namespace) = Namespace::offered("conflict") else {
        return;
    };
    let map = |value: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": value}});
    let source = namespace.source("ConfigMap/v1", json!({"name": "a"}));
    let folder = tempdir().unwrap();
    let file = folder.path().join("a.json");
    fs::write(&file, map("theirs").to_string()).unwrap();
    let file = file.to_str().unwrap();
    namespace.kubectl(&[
        "-n",
        &namespace.name,
        "apply",
        "--server-side",
        "--field-manager=helm",
        "-f",
        file,
    ]);
    let refused = namespace.put(&source, &[map("ours")], json!({}));
    refused.fails_with("cannot apply configmaps/a in");
    let forced = namespace.put(&source, &[map("ours")], json!({"force_conflicts": true}));
    forced.ok();

    // Two objects of a group, then one.
    let prune =
        json!({"force_conflicts": true, "prune": {"group": "web", "kinds": ["v1/ConfigMap"]}});
    let mut other = map("x");
    other["metadata"]["name"] = json!("b");
    namespace
        .put(&source, &[map("ours"), other], prune.clone())
        .ok();
    let pruned = namespace.put(&source, &[map("ours")], prune);
    assert!(
        pruned.log.contains("pruned configmaps/b in"),
        "{}",
        pruned.log
    );
    pruned.ok();
}

#[test]
fn a_missing_right_is_a_line() {
    let Some(namespace) = Namespace::offered("rights") else {
        return;
    };
    namespace.kubectl(&["-n", &namespace.name, "create", "serviceaccount", "weak"]);
    let token = namespace.kubectl(&["-n", &namespace.name, "create", "token", "weak"]);
    let server = namespace.kubectl(&[
        "config",
        "view",
        "--minify",
        "-o",
        "jsonpath={.clusters[0].cluster.server}",
    ]);
    let authority = namespace.kubectl(&[
        "config",
        "view",
        "--minify",
        "--raw",
        "--flatten",
        "-o",
        "jsonpath={.clusters[0].cluster.certificate-authority-data}",
    ]);
    let authority = base64::Engine::decode(&base64::prelude::BASE64_STANDARD, authority).unwrap();
    let source = json!({
        "kind": "Job.batch/v1", "namespace": namespace.name, "name": "a", "server": server, "token": token.trim(),
        "certificate_authority": String::from_utf8(authority).unwrap(),
    });
    let ran = namespace.put(&source, &[job(json!({"name": "a"}), "true")], json!({}));
    let user = format!(
        "missing right of system:serviceaccount:{}:weak: ",
        namespace.name
    );
    assert_eq!(ran.log.matches(&user).count(), 4, "{}", ran.log);
    ran.fails_with(&format!("{user}create jobs.batch in {}", namespace.name));
}
