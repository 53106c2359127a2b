//! Images on nodes as a whole: installed by what `airside images install` prints, with operator and
//! agents as pods.

use std::path::Path;

use crate::support::operator::{NAMESPACE, Registry, Stage};
use airside_scenarios::{layout, wait_for, wait_until};
use serde_json::{Value, json};

const OURS: &str = "images.airside.dev/";

/// The labels of the node that say what is there.
fn labels(stage: &Stage) -> Vec<String> {
    let node = stage.get(&["node", "n1"]).unwrap();
    let labels = node["metadata"]["labels"].as_object().unwrap();
    let ours = labels
        .iter()
        .filter(|(key, value)| key.starts_with(OURS) && *value == "present");
    ours.map(|(key, _)| key.clone()).collect()
}

fn nodes(stage: &Stage) -> Vec<String> {
    let listed = stage.kubectl(&["get", "nodes", "-o", "name"]);
    let names = listed
        .lines()
        .map(|name| name.trim_start_matches("node/").to_owned());
    names.collect()
}

fn condition(stage: &Stage, node: &str, kind: &str) -> Option<String> {
    let said = stage.get(&["nodeimages", node])?;
    let conditions = said["status"]["conditions"].as_array()?;
    let found = conditions.iter().find(|it| it["type"] == kind)?;
    Some(found["status"].as_str()?.to_owned())
}

/// True if any node's containerd is told to ask elsewhere for this registry's images.
fn mirror_files(stage: &Stage, registry: &str) -> bool {
    let kubeconfig = stage.cluster.ask(&["kubeconfig"]);
    let state = Path::new(kubeconfig.trim()).parent().unwrap();
    nodes(stage).iter().any(|node| {
        let folder = state.join(node).join("kept/etc/containerd/certs.d");
        folder.join(registry).join("hosts.toml").exists()
    })
}

fn wait_ready(stage: &Stage) {
    let wait = [
        "wait",
        "--for=condition=Ready",
        "imageset/app",
        "--timeout=120s",
        "-n",
        &stage.namespace,
    ];
    stage.kubectl(&wait);
}

/// Waits for an event of the set.
fn wait_event(stage: &Stage, reason: &str) {
    wait_until(&format!("the set has the event {reason}"), || {
        let events = stage.kubectl(&["get", "events", "-n", &stage.namespace, "-o", "json"]);
        let events: Value = serde_json::from_str(&events).unwrap();
        events["items"].as_array().into_iter().flatten().any(|it| {
            it["involvedObject"]["kind"] == "ImageSet"
                && it["involvedObject"]["name"] == "app"
                && it["reason"] == reason
        })
    });
}

#[test]
fn from_nothing_to_a_pod_that_starts_without_a_pull_and_back_to_nothing() {
    let Some(stage) = Stage::offered() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let made = format!("org/app={}", layout(folder.path()).display());
    let registry = Registry::start(&stage, &["--made", &made]);
    let plain = format!("--plain-registry={}", registry.host());
    // Nodes know of this registry only by what their agents write for containerd.
    let mirrored = format!("--mirror-registry={0}=http://{0}", registry.host());
    let options = ["--replicas=1", &plain, &mirrored];
    for _ in 0..2 {
        stage.install_all(&options);
    }
    let rollout =
        |what: &str| stage.kubectl(&["-n", NAMESPACE, "rollout", "status", what, "--timeout=120s"]);
    rollout("deployment/airside-images-operator");
    rollout("daemonset/airside-node");
    rollout("deployment/airside-images-admission");
    rollout("deployment/airside-images-mirror");
    for node in nodes(&stage) {
        wait_until("containerd was seen to ask its node first", || {
            condition(&stage, &node, "MirrorUsed") == Some("True".to_owned())
        });
    }

    let image = registry.image("org/app:1");
    stage.apply_set(
        "app",
        &json!({"images": [{"image": image}], "checkEvery": "5s"}),
    );
    wait_ready(&stage);
    wait_event(&stage, "AllPresent");
    let first = labels(&stage);
    assert_eq!(first.len(), 1, "the node is labelled");

    // The registry serves no layers any more.
    registry.fault(&json!({"status": 503, "only": "blobs"}));
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod", "namespace": stage.namespace},
        "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [
            {"name": "main", "image": image, "imagePullPolicy": "Always", "command": ["true"]},
        ]},
    });
    let policy = "{.spec.containers[0].imagePullPolicy}";
    stage.create_admitted(&pod, policy, "IfNotPresent");
    wait_until("the pod has run", || {
        stage.get(&["pod", "pod", "-n", &stage.namespace]).unwrap()["status"]["phase"]
            == "Succeeded"
    });
    wait_until("it was told that nothing had to be pulled", || {
        let events = stage.kubectl(&["get", "events", "-n", &stage.namespace, "-o", "json"]);
        events.contains("already present on machine")
    });
    stage.kubectl(&["delete", "pod", "pod", "-n", &stage.namespace]);

    // The new content cannot be pulled as long as there are no layers.
    registry.control(&json!({"move": "org/app:1"}));
    wait_event(&stage, "PullError");
    registry.fault(&Value::Null);
    // An image in error waits ten minutes, unless its digest changes.
    registry.control(&json!({"move": "org/app:1"}));
    let digest = registry.digest("org/app", "1");
    stage.images("app", "the tag moves", |it| {
        it[0]["digest"] == json!(digest)
    });
    let second = wait_for("the node follows", || {
        let now = labels(&stage);
        (now.len() == 1 && now != first).then_some(now)
    });
    wait_ready(&stage);
    assert_ne!(first, second);
    let shown = stage.airside(&["images", "status"]);
    let all = nodes(&stage).len();
    assert!(shown.contains(&format!("{all}/{all}")), "{shown}");
    assert!(shown.contains("present"), "{shown}");
    let shown: Value =
        serde_json::from_str(&stage.airside(&["images", "status", "-o", "json"])).unwrap();
    assert_eq!(
        shown["sets"][0]["images"][0]["nodes"]["n1"]["state"],
        "present"
    );

    stage.kubectl(&[
        "delete",
        "imageset",
        "app",
        "-n",
        &stage.namespace,
        "--timeout=60s",
    ]);
    wait_until("no label is left", || labels(&stage).is_empty());
    let said = stage.get(&["nodeimages", "n1"]).unwrap();
    assert!(
        said["status"]["images"]
            .as_array()
            .is_none_or(Vec::is_empty),
        "{said}"
    );
    let has_files = || mirror_files(&stage, registry.host());
    assert!(has_files(), "containerd is told of the mirror");
    let mut clean = options.to_vec();
    clean.push("--clean");
    stage.install_all(&clean);
    rollout("daemonset/airside-node");
    assert!(!has_files(), "containerd's folder is as it was");
    stage.uninstall(&options);
    for gone in [
        "crd/imagesets.images.airside.dev",
        "namespace/airside-images",
        "clusterrole/airside-node",
    ] {
        assert!(stage.get(&[gone]).is_none(), "{gone}");
    }
}
