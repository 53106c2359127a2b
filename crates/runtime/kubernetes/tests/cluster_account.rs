//! A target on a real cluster, as in `cluster.rs`, that is reached as a service account whose files
//! are in a folder, as they are in a pod, with no more rights than `airside k8s rbac` prints.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs;

use airside_runtime::{Observed, Runtime};
use airside_runtime_kubernetes::{
    KubeRuntime, Target,
    rbac::{self, Account, Feature, Grant},
    targets,
};
use common::{Cluster, busybox, wait_for};

/// A target in a namespace of its own, as the account that may do what is printed there.
fn target(cluster: &Cluster, folder: &std::path::Path) -> Target {
    let namespace = cluster.installation.to_string();
    cluster.kubectl(&["create", "namespace", &namespace]);
    let account = Account {
        name: "airside".to_owned(),
        namespace: namespace.clone(),
    };
    let grants = Feature::EVERYWHERE.iter().map(|feature| Grant {
        namespace: namespace.clone(),
        feature: *feature,
    });
    let rights = folder.join("rights.yml");
    let manifest = rbac::manifest(&account, &grants.collect::<Vec<_>>());
    fs::write(&rights, manifest.to_yaml().unwrap()).unwrap();
    cluster.kubectl(&["apply", "-f", rights.to_str().unwrap()]);
    let default = [
        "-n",
        &namespace,
        "wait",
        "--for=create",
        "serviceaccount/default",
    ];
    cluster.kubectl(&default);

    let token = cluster.kubectl(&["-n", &namespace, "create", "token", "airside"]);
    fs::write(folder.join("token"), token).unwrap();
    let certificates = r"jsonpath={.data.ca\.crt}";
    let map = [
        "-n",
        &namespace,
        "get",
        "configmap",
        "kube-root-ca.crt",
        "-o",
        certificates,
    ];
    fs::write(folder.join("ca.crt"), cluster.kubectl(&map)).unwrap();
    let view = "jsonpath={.clusters[0].cluster.server}";
    let server = cluster.kubectl(&["config", "view", "--minify", "-o", view]);
    let text = format!(
        "targets:\n- name: account\n  service_account: {}\n  api_server: {server}\n  namespace: {namespace}\n  \
         hub_host: 127.0.0.1\n",
        folder.display()
    );
    targets::parse("targets.yml".as_ref(), &text)
        .unwrap()
        .remove(0)
}

#[tokio::test]
async fn a_service_account_by_its_files_with_exactly_the_rights_that_are_printed() {
    let Some(cluster) = Cluster::offered("account").await else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let target = target(&cluster, folder.path());
    let namespace = target.namespace.clone();
    let runtime = KubeRuntime::connect(target, cluster.installation.clone())
        .await
        .unwrap();
    let spec = cluster.spec(busybox(), 1);
    let mut stream = runtime.observe();
    runtime.place(&spec).await.unwrap();
    let started = |it: &Observed| matches!(it, Observed::Started { .. });
    wait_for(&mut stream, &spec.handle, started).await;
    assert_eq!(runtime.list().await.unwrap().len(), 1);
    let condition = runtime.condition().unwrap().borrow().clone();
    assert_eq!(condition.words(), Vec::<String>::new());
    runtime.destroy(&spec.handle).await.unwrap();

    let text = format!("{}/none", folder.path().display());
    let other = targets::parse(
        "targets.yml".as_ref(),
        &format!(
            "targets:\n- name: account\n  service_account: {text}\n  api_server: https://127.0.0.1:1\n  \
             namespace: ci\n  hub_host: h\n"
        ),
    );
    let nowhere =
        KubeRuntime::connect(other.unwrap().remove(0), cluster.installation.clone()).await;
    let words = airside_model::chain(&nowhere.err().expect("there is no such folder"));
    assert!(words.contains("none/token cannot be read"), "{words}");
    cluster.kubectl(&["delete", "namespace", &namespace, "--wait=false"]);
}

#[tokio::test]
async fn missing_rights_are_named_and_block_every_step() {
    let Some(cluster) = Cluster::offered("rights").await else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let target = target(&cluster, folder.path());
    let namespace = target.namespace.clone();
    cluster.kubectl(&["-n", &namespace, "delete", "rolebinding", "airside"]);
    let runtime = KubeRuntime::connect(target, cluster.installation.clone())
        .await
        .unwrap();
    let mut condition = runtime.condition().unwrap();
    let lacking = condition
        .wait_for(|condition| !condition.lacks.is_empty())
        .await;
    let words = lacking
        .unwrap()
        .cannot(&[airside_runtime::Shape::Plain])
        .unwrap();
    let expected =
        "cannot run steps because its account may not create, get, list, watch, delete pods";
    assert!(words.starts_with(expected), "{words}");
    cluster.kubectl(&["delete", "namespace", &namespace, "--wait=false"]);
}
