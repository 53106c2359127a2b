use std::path::Path;

use super::*;
use crate::targets;

const MINIMAL: &str = "targets:\n- {name: c, namespace: ci, hub_host: hub.example}\n";

fn fault(text: &str) -> String {
    targets::parse(Path::new("targets.yml"), text)
        .expect_err(text)
        .to_string()
}

/// The minimal target with one more field, on line 5.
fn with(field: &str) -> String {
    format!("targets:\n- name: c\n  namespace: ci\n  hub_host: hub\n  {field}\n")
}

#[test]
fn defaults() {
    let targets = targets::parse(Path::new("t"), MINIMAL).unwrap();
    let [target] = targets.as_slice() else {
        panic!("{targets:?}")
    };
    assert_eq!(target.name, WorkerName::new("c"));
    assert_eq!(target.shim_image, airside_kube_objects::DEFAULT_SHIM_IMAGE);
    assert_eq!(target.claim_proof, ClaimProof::Projected);
    assert!(!target.host_users);
    assert_eq!(target.lost_after, Duration::from_secs(30));
    assert_eq!(target.grace_period, Duration::from_secs(300));
    assert_eq!(target.default_requests, DefaultRequests::default());
    assert_eq!(target.privileged, Privileged::Deny);
    assert_eq!(target.shim, ShimDelivery::ImageVolume);
    assert_eq!(target.fence_after, None);
    assert_eq!((target.kept.most, target.kept.stay), (None, None));
    assert_eq!(target.kept.shrink_after, Duration::from_secs(300));
    assert!(target.pod_rules.is_empty());
}

#[test]
fn everything_can_be_set() {
    let text = r"
targets:
- name: gpu
  kubeconfig: /etc/airside/kubeconfig
  context: build
  namespace: ci-gpu
  team: ml
  tags: [gpu, big]
  hub_host: fd00::1
  shim_image: registry.example/shim@sha256:1
  host_image: registry.example/tools:1
  node_selector: {pool: gpu}
  tolerations:
  - {key: gpu, operator: Exists, effect: NoSchedule}
  privileged: host
  shim: init_container
  kept_max: 3
  kept_for_seconds: 600
  kept_shrink_after_seconds: 30
  pod_rules:
  - {match: {team: ml}, patch: {spec: {runtimeClassName: vm}}}
  host_users: true
  claim_proof: none
  lost_after_seconds: 60
  grace_period_seconds: 10
  default_requests: {cpu: 2, memory: 1Gi}
  registry: localhost:5000
  pull_secrets: [registry.example]
  qps: 5
  burst: 7
  max_pods: 30
  fence_after_seconds: 90
  stalled_after_seconds: 10
";
    let targets = targets::parse(Path::new("t"), text).unwrap();
    let [target] = targets.as_slice() else {
        panic!("{targets:?}")
    };
    assert_eq!(target.team.as_deref(), Some("ml"));
    assert_eq!(target.tags, ["gpu", "big"]);
    assert_eq!(target.tolerations[0].operator.as_deref(), Some("Exists"));
    assert_eq!(target.node_selector["pool"], "gpu");
    assert_eq!(target.claim_proof, ClaimProof::None);
    assert_eq!(target.default_requests.cpu, "2");
    assert!(target.host_users);
    assert_eq!(target.privileged, Privileged::Host);
    assert_eq!(target.shim, ShimDelivery::InitContainer);
    assert_eq!(target.kept.most, Some(3));
    assert_eq!(target.kept.stay, Some(Duration::from_secs(600)));
    assert_eq!(target.kept.shrink_after, Duration::from_secs(30));
    assert_eq!(target.pod_rules.len(), 1);
    assert_eq!(target.registry.as_deref(), Some("localhost:5000"));
    assert!(
        target
            .features()
            .contains(&crate::rbac::Feature::PullSecrets)
    );
    assert_eq!(target.pull_secrets, ["registry.example"]);
    assert_eq!(target.rate, Rate { qps: 5, burst: 7 });
    assert_eq!(target.max_pods, Some(30));
    assert_eq!(target.fence_after, Some(Duration::from_secs(90)));
    assert_eq!(target.stalled_after, Duration::from_secs(10));
}

#[test]
fn mistakes_are_named_with_file_line_and_field() {
    for (field, expected) in [
        (
            "privileged: yes please",
            "targets.yml:5:15: unknown variant",
        ),
        (
            "privileged: userns\n  host_users: true",
            "targets.yml:5:15: privileged: userns needs user namespaces",
        ),
        (
            "pod_security: restricted\n  host_users: true",
            "targets.yml:5:17: pod_security: restricted needs user namespaces",
        ),
        (
            "pod_security: baseline\n  privileged: userns",
            "targets.yml:5:17: pod_security: a namespace that enforces baseline or restricted refuses privileged",
        ),
        ("offers: [magic]", "targets.yml:5:12: unknown variant"),
        (
            "registry: http://localhost:5000",
            "targets.yml:5:13: registry: \"http://localhost:5000\" is not a registry",
        ),
        ("registry: images", "targets.yml:5:13: registry: "),
        ("registry: 'a.example/b'", "targets.yml:5:13: registry: "),
        ("registry: localhost:0", "targets.yml:5:13: registry: "),
        ("shim: magic", "targets.yml:5:9: unknown variant"),
        (
            "fence_after_seconds: 0",
            "targets.yml:5:24: fence_after_seconds: must be at least 1",
        ),
        ("kept_max: -1", "targets.yml:5:13: "),
        (
            "kept_for_seconds: 0",
            "targets.yml:5:21: kept_for_seconds: must be at least 1",
        ),
        (
            "lost_after_seconds: 0",
            "targets.yml:5:23: lost_after_seconds: must be at least 1",
        ),
        (
            "default_requests: {memory: 1MB}",
            "targets.yml:5:30: default_requests.memory: \"1MB\"",
        ),
        (
            "max_pods: 0",
            "targets.yml:5:13: max_pods: must be at least 1",
        ),
        ("qps: 0", "targets.yml:5:8: qps: must be at least 1"),
        ("qps: fast", "targets.yml:5:8: "),
        (
            "pull_secrets: [No_Secret]",
            "targets.yml:5:18: pull_secrets: \"No_Secret\" cannot be the name of a secret",
        ),
        (
            "api_server: http://10.0.0.1",
            "targets.yml:5:15: api_server: \"http://10.0.0.1\" is not a URL",
        ),
        ("team: ''", "targets.yml:5:9: team: must not be empty"),
        ("tags: ['']", "targets.yml:5:10: tags: must not be empty"),
        ("nodeselector: {}", "targets.yml:5:3: unknown field"),
        ("host_users: maybe", "targets.yml:5:15: "),
        ("claim_proof: some", "targets.yml:5:16: unknown variant"),
        ("tolerations: [{kye: a}]", "targets.yml:5:18: unknown field"),
    ] {
        let message = fault(&with(field));
        assert!(message.starts_with(expected), "{field}: {message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn names_namespaces_and_hosts_are_checked() {
    for (text, expected) in [
        (
            "{name: Big, namespace: ci, hub_host: h}",
            "name: \"Big\" is not a worker name",
        ),
        (
            "{name: '', namespace: ci, hub_host: h}",
            "name: \"\" is not a worker name",
        ),
        (
            "{name: a, namespace: c.i, hub_host: h}",
            "namespace: \"c.i\"",
        ),
        (
            "{name: a, namespace: ci, hub_host: 'https://h'}",
            "hub_host: \"https://h\"",
        ),
        (
            "{name: a, namespace: ci, hub_host: 'h:80'}",
            "hub_host: \"h:80\"",
        ),
        ("{name: a, namespace: ci}", "missing field"),
        ("{name: a, hub_host: h}", "missing field"),
    ] {
        let message = fault(&format!("targets:\n- {text}\n"));
        assert!(message.starts_with("targets.yml:2:"), "{message}");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn names_are_unique() {
    let message = fault(&format!(
        "{MINIMAL}- {{name: c, namespace: other, hub_host: h}}\n"
    ));
    assert!(
        message.contains(":3:10: name: there is a target \"c\" already, at line 2"),
        "{message}"
    );
}

#[test]
fn what_is_no_yaml_and_what_is_not_there() {
    assert!(fault("targets: [").starts_with("targets.yml"));
    let folder = tempfile::tempdir().unwrap();
    let missing = targets::load(&folder.path().join("none.yml")).expect_err("no such file");
    assert!(
        missing
            .to_string()
            .ends_with("none.yml: cannot read the targets file"),
        "{missing}"
    );
}

#[test]
fn a_cluster_is_reached_in_one_way() {
    for field in [
        "service_account: /account",
        "api_server: https://10.0.0.1:6443",
    ] {
        targets::parse(Path::new("t"), &with(field)).unwrap();
        let message = fault(&with(&format!("{field}\n  kubeconfig: /ci.conf")));
        assert!(message.contains("leave one out"), "{message}");
    }
}

#[test]
fn the_place_is_where_the_pods_are() {
    let [read, other] = ["namespace: ci", "namespace: other"].map(|namespace| {
        let text = MINIMAL.replace("namespace: ci", namespace);
        targets::parse(Path::new("t"), &text).unwrap().remove(0)
    });
    let tagged = Target {
        tags: vec!["big".to_owned()],
        ..read.clone()
    };
    assert!(read.is_same_place(&tagged));
    assert!(!read.is_same_place(&other));
}

#[test]
fn what_is_not_offered_needs_no_right() {
    use crate::rbac::Feature;
    let features = |fields: &str| {
        let text = format!("targets:\n- name: c\n  namespace: ci\n  hub_host: hub\n  {fields}\n");
        parse(&text).unwrap().remove(0).features()
    };
    let all = [Feature::Core, Feature::Resize, Feature::Marks];
    assert_eq!(features("tags: []"), all);
    assert_eq!(features("offers: []"), [Feature::Core]);
    assert_eq!(
        features("offers: [kept_marks]\n  host_users: true"),
        [Feature::Core, Feature::Marks]
    );
}

#[test]
fn hostile_renames_find_teams_of_targets_and_of_pod_rules() {
    let rule = "pod_rules: [{match: {team: ml}, patch: {spec: {priorityClassName: high}}}]";
    let text = |more: &str| with(&format!("team: vision\n  {more}"));
    let read = |text: &str| targets::parse(Path::new("targets.yml"), text).unwrap();
    let named = read(&text(rule)).remove(0);
    let plain = read(&text("")).remove(0);
    for (team, by_rule, without) in [
        ("vision", true, true),
        ("ml", true, false),
        ("m", false, false),
        ("", false, false),
    ] {
        assert_eq!(named.names_team(team), by_rule, "{team:?}");
        assert_eq!(plain.names_team(team), without, "{team:?}");
    }
}
