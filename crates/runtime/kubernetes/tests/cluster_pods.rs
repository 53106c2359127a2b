//! Pods as a target's owner wants them, on a real cluster: rules, privilege, the way of the shim,
//! pods that stay, pull secrets, and the namespace's own admission. Run like `cluster.rs`; the
//! affinity wants two nodes.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use airside_runtime::{Cause, Observed, PlacementSpec, Runtime};
use airside_runtime_kubernetes::{KubeRuntime, Target, targets};
use common::{BUSYBOX, Cluster, busybox, target, wait_for};

impl Cluster {
    /// A runtime of the same installation whose target has more settings.
    async fn with(&self, settings: &str) -> KubeRuntime {
        let text = format!(
            "targets:\n- name: real\n  kubeconfig: {}\n  namespace: default\n  hub_host: 127.0.0.1\n{settings}",
            self.kubeconfig
        );
        let target = targets::parse("targets.yml".as_ref(), &text)
            .unwrap()
            .remove(0);
        self.connect(target).await
    }

    async fn connect(&self, target: Target) -> KubeRuntime {
        KubeRuntime::connect(target, self.installation.clone())
            .await
            .unwrap()
    }

    fn step(&self, name: &str, build: i64) -> PlacementSpec {
        let mut spec = self.spec(busybox(), build);
        spec.labels.step = name.to_owned();
        spec
    }

    fn inside(&self, spec: &PlacementSpec, program: &[&str]) -> String {
        let exec = [
            "exec",
            spec.handle.as_str(),
            "-c",
            "step",
            "--",
            "/bin/busybox",
        ];
        self.kubectl(&[&exec[..], program].concat())
    }

    fn field(&self, spec: &PlacementSpec, path: &str) -> String {
        let path = format!("jsonpath={path}");
        self.kubectl(&["get", "pod", spec.handle.as_str(), "-o", &path])
    }
}

async fn start(runtime: &KubeRuntime, spec: &PlacementSpec) {
    runtime.place(spec).await.unwrap();
    let started = |it: &Observed| matches!(it, Observed::Started { .. });
    wait_for(&mut runtime.observe(), &spec.handle, started).await;
}

#[tokio::test]
async fn a_service_account_is_for_the_steps_of_its_rule_alone() {
    let Some(cluster) = Cluster::offered("account").await else {
        return;
    };
    let account = cluster.installation.to_string();
    cluster.kubectl(&["create", "serviceaccount", &account]);
    let rules = format!(
        "  pod_rules:\n  - match: {{team: main, pipeline: 'pipe*', step: deploy}}\n    \
         patch: {{spec: {{serviceAccountName: {account}}}}}\n"
    );
    let runtime = cluster.with(&rules).await;
    let (deploy, test) = (cluster.step("deploy", 1), cluster.step("test", 2));
    for spec in [&deploy, &test] {
        start(&runtime, spec).await;
    }
    let token = "/var/run/secrets/kubernetes.io/serviceaccount/token";
    assert!(!cluster.inside(&deploy, &["cat", token]).is_empty());
    let without = ["test", "!", "-e", token];
    cluster.inside(&test, &without);
    let named = "{.spec.serviceAccountName}";
    assert_eq!(cluster.field(&deploy, named), account);
    assert_eq!(cluster.field(&test, named), "default");
    for spec in [&deploy, &test] {
        runtime.destroy(&spec.handle).await.unwrap();
    }
    cluster.kubectl(&["delete", "serviceaccount", &account]);
}

/// The example of docs/kubernetes/pods.md: all steps of a build on one node.
const ONE_NODE: &str = "  pod_rules:
  - match: {team: main}
    patch:
      spec:
        affinity:
          podAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector: {matchExpressions: [{key: airside.dev/worker, operator: Exists}]}
              matchLabelKeys: [airside.dev/build]
";

#[tokio::test]
async fn an_affinity_keeps_a_build_on_one_node() {
    let Some(cluster) = Cluster::offered("affinity").await else {
        return;
    };
    let runtime = cluster.with(ONE_NODE).await;
    let mut specs = Vec::new();
    for build in 1..=2 {
        for step in 0..3 {
            let mut spec = cluster.step("work", build);
            spec.handle.0 = format!("{}{step}", spec.handle.0);
            specs.push(spec);
        }
    }
    for spec in &specs {
        start(&runtime, spec).await;
    }
    for build in specs.chunks(3) {
        let nodes: Vec<String> = (build.iter())
            .map(|spec| cluster.field(spec, "{.spec.nodeName}"))
            .collect();
        assert!(nodes.iter().all(|node| *node == nodes[0]), "{nodes:?}");
    }
    for spec in &specs {
        runtime.destroy(&spec.handle).await.unwrap();
    }
}

#[tokio::test]
async fn a_step_beside_sidecars_still_ends() {
    let Some(cluster) = Cluster::offered("sidecar").await else {
        return;
    };
    let sleep = "command: [/bin/busybox, sleep, '1000']";
    let rules = format!(
        "  pod_rules:\n  - match: {{team: main}}\n    patch:\n      spec:\n        containers: [{{name: \
         beside, image: '{BUSYBOX}', {sleep}}}]\n        initContainers: [{{name: before, image: \
         '{BUSYBOX}', restartPolicy: Always, {sleep}}}]\n        volumes: [{{name: shared, emptyDir: \
         {{}}}}]\n"
    );
    let runtime = cluster.with(&rules).await;
    let mut spec = cluster.step("work", 1);
    // A shim that does not know where its hub is ends at once.
    spec.claim.token = String::new();
    runtime.place(&spec).await.unwrap();
    let gone = |it: &Observed| matches!(it, Observed::Gone { .. });
    wait_for(&mut runtime.observe(), &spec.handle, gone).await;
    let beside = "{.status.containerStatuses[?(@.name=='beside')].state.running}";
    assert!(!cluster.field(&spec, beside).is_empty(), "it still runs");
    runtime.destroy(&spec.handle).await.unwrap();
}

#[tokio::test]
async fn privileged_in_a_user_namespace_and_on_the_node() {
    let Some(cluster) = Cluster::offered("privileged").await else {
        return;
    };
    for (build, kind, own_ids) in [(1, "userns", true), (2, "host", false)] {
        let runtime = cluster.with(&format!("  privileged: {kind}\n")).await;
        let spec = PlacementSpec {
            privileged: true,
            ..cluster.step("work", build)
        };
        start(&runtime, &spec).await;
        let ids = cluster.inside(&spec, &["cat", "/proc/self/uid_map"]);
        let all = ids.split_whitespace().eq(["0", "0", "4294967295"]);
        assert_eq!(!all, own_ids, "{kind}: {ids}");
        let status = cluster.inside(&spec, &["cat", "/proc/1/status"]);
        let effective = status
            .lines()
            .find_map(|line| line.strip_prefix("CapEff:"))
            .unwrap();
        let effective = u64::from_str_radix(effective.trim(), 16).unwrap();
        assert!(effective & (1 << 21) != 0, "{kind}: no CAP_SYS_ADMIN");
        runtime.destroy(&spec.handle).await.unwrap();
    }
}

#[tokio::test]
async fn the_shim_arrives_without_image_volumes() {
    let Some(cluster) = Cluster::offered("copied").await else {
        return;
    };
    let runtime = cluster.with("  shim: init_container\n").await;
    let spec = cluster.step("work", 1);
    start(&runtime, &spec).await;
    let program = cluster.inside(&spec, &["cat", "/proc/1/comm"]);
    assert_eq!(program.trim(), "airside-shim");
    let mounted = cluster.field(&spec, "{.spec.volumes[?(@.name=='shim')].emptyDir}");
    assert_eq!(mounted, "{}");
    runtime.destroy(&spec.handle).await.unwrap();
}

#[tokio::test]
async fn a_kept_pod_gives_back_what_it_asked_for() {
    let Some(cluster) = Cluster::offered("resize").await else {
        return;
    };
    let runtime = cluster.connect(target(&cluster.kubeconfig)).await;
    let spec = cluster.step("work", 1);
    start(&runtime, &spec).await;
    let resources = "{.spec.containers[0].resources}";
    let before = cluster.field(&spec, resources);
    assert!(before.contains("62m"), "{before}");
    for _ in 0..2 {
        runtime.shrink(&spec.handle).await.unwrap();
    }
    let after = cluster.field(&spec, resources);
    assert!(after.contains(r#""cpu":"1m""#), "{after}");
    assert!(after.contains(r#""memory":"16Mi""#), "{after}");
    assert!(
        after.contains(r#""limits":{"memory":"67108864"}"#),
        "{after}"
    );
    let restarts = "{.status.containerStatuses[0].restartCount}";
    assert_eq!(cluster.field(&spec, restarts), "0");
    runtime.destroy(&spec.handle).await.unwrap();
    // One that is not there any more is not a problem.
    let other = cluster.step("work", 2);
    runtime.shrink(&other.handle).await.unwrap();
}

#[tokio::test]
async fn what_is_taken_away_is_told_with_its_reason() {
    let Some(cluster) = Cluster::offered("evicted").await else {
        return;
    };
    let runtime = &cluster.runtime;
    let spec = cluster.step("work", 1);
    start(runtime, &spec).await;
    let name = &spec.handle;
    // As `kubectl drain` does.
    let eviction = format!(
        "{{\"apiVersion\": \"policy/v1\", \"kind\": \"Eviction\", \"metadata\": {{\"name\": \"{name}\"}}, \
         \"deleteOptions\": {{\"gracePeriodSeconds\": 1}}}}"
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("eviction.json");
    std::fs::write(&file, eviction).unwrap();
    let path = format!("/api/v1/namespaces/default/pods/{name}/eviction");
    cluster.kubectl(&["create", "--raw", &path, "-f", file.to_str().unwrap()]);
    let evicted = |it: &Observed| matches!(it, Observed::Gone { reason, cause: Cause::Evicted, .. } if reason.contains("Eviction"));
    wait_for(&mut runtime.observe(), name, evicted).await;
    runtime.destroy(name).await.unwrap();
}
