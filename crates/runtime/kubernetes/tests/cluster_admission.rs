//! A namespace whose own admission changes every pod: they are adopted as they are, run, and end.
//! As `cluster.rs`.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::{
    fs,
    time::{Duration, Instant},
};

use airside_runtime::{Observed, Runtime};
use airside_runtime_kubernetes::{KubeRuntime, Target};
use common::{BUSYBOX, Cluster, busybox, target, wait_for};

/// An image that is on every node of the development cluster, and content to do nothing. Policies
/// cannot set lists such as a command.
const SIDECAR: &str = "airside.local/pause:1";

/// Adds a label and a sidecar to each pod of one namespace.
fn policy(name: &str) -> String {
    format!(
        r#"
apiVersion: v1
kind: LimitRange
metadata: {{name: usual, namespace: {name}}}
spec: {{limits: [{{type: Container, default: {{cpu: 1, memory: 256Mi}}, defaultRequest: {{cpu: 10m, memory: 16Mi}}}}]}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {{name: {name}}}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: {name}}}}}
    resourceRules: [{{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >
        Object{{
          metadata: Object.metadata{{labels: Object.metadata.labels{{mesh: "yes"}}}},
          spec: Object.spec{{initContainers: [Object.spec.initContainers{{
            name: "mesh", image: "{SIDECAR}", restartPolicy: "Always"}}]}}
        }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {{name: {name}}}
spec: {{policyName: {name}}}
"#
    )
}

/// Waits until the API server has taken the policy up.
fn wait_for_policy(cluster: &Cluster, namespace: &str) {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let image = format!("--image={BUSYBOX}");
        let tried = cluster.kubectl(&[
            "-n",
            namespace,
            "run",
            "probe",
            &image,
            "--dry-run=server",
            "-o",
            "jsonpath={.metadata.labels.mesh}",
        ]);
        if tried == "yes" {
            return;
        }
        assert!(Instant::now() < deadline, "the policy changes nothing");
    }
}

#[tokio::test]
async fn pods_that_admission_changed_are_adopted_run_and_end() {
    let Some(cluster) = Cluster::offered("admission").await else {
        return;
    };
    let namespace = cluster.installation.to_string();
    cluster.kubectl(&["create", "namespace", &namespace]);
    let account = "--for=create";
    cluster.kubectl(&["-n", &namespace, "wait", account, "serviceaccount/default"]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("policy.yml");
    fs::write(&file, policy(&namespace)).unwrap();
    cluster.kubectl(&["apply", "-f", file.to_str().unwrap()]);
    wait_for_policy(&cluster, &namespace);

    let target = Target {
        namespace: namespace.clone(),
        ..target(&cluster.kubeconfig)
    };
    let runtime = KubeRuntime::connect(target, cluster.installation.clone())
        .await
        .unwrap();
    let spec = cluster.spec(busybox(), 1);
    let uid = runtime.place(&spec).await.unwrap();
    assert_eq!(runtime.place(&spec).await.unwrap(), uid, "adopted");
    let started = |it: &Observed| matches!(it, Observed::Started { .. });
    wait_for(&mut runtime.observe(), &spec.handle, started).await;
    assert_eq!(runtime.place(&spec).await.unwrap(), uid, "adopted again");
    let field = |path: &str| {
        let path = format!("jsonpath={path}");
        let name = spec.handle.as_str();
        cluster.kubectl(&["-n", &namespace, "get", "pod", name, "-o", &path])
    };
    assert_eq!(field("{.metadata.labels.mesh}"), "yes");
    assert_eq!(field("{.spec.initContainers[*].name}"), "mesh");
    let limits = field("{.spec.containers[0].resources.limits}");
    assert!(limits.contains(r#""cpu":"1""#), "{limits}");

    // The step ends; what was put beside it goes on.
    let mut ending = cluster.spec(busybox(), 2);
    ending.claim.token = String::new();
    runtime.place(&ending).await.unwrap();
    let gone = |it: &Observed| matches!(it, Observed::Gone { .. });
    wait_for(&mut runtime.observe(), &ending.handle, gone).await;
    for spec in [&spec, &ending] {
        runtime.destroy(&spec.handle).await.unwrap();
    }
    for kind in [
        "mutatingadmissionpolicybinding",
        "mutatingadmissionpolicy",
        "namespace",
    ] {
        cluster.kubectl(&["delete", kind, &namespace, "--wait=false"]);
    }
}
