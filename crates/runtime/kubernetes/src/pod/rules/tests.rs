use std::path::Path;

use serde_json::json;

use super::*;
use crate::{
    pod::{
        pod_for,
        tests::{spec, target},
    },
    targets::{self, Target},
};

/// A target with these rules, as the file has them.
fn ruled(rules: &str) -> Target {
    let indented: String = rules.lines().map(|line| format!("  {line}\n")).collect();
    let text = format!(
        "targets:\n- name: cluster\n  namespace: ci\n  hub_host: hub.example\n  pod_rules:\n{indented}"
    );
    targets::parse(Path::new("targets.yml"), &text)
        .unwrap()
        .remove(0)
}

fn pod(rules: &str) -> Value {
    serde_json::to_value(pod_for(&spec(), &ruled(rules)).unwrap()).unwrap()
}

#[test]
fn rules_match_by_team_names_and_tags() {
    for (matching, expected) in [
        ("{team: main}", true),
        ("{team: other}", false),
        ("{team: main, pipeline: 'über/*'}", true),
        ("{team: main, pipeline: über}", false),
        ("{team: main, job: 'u?it', step: 'run *'}", true),
        ("{team: main, job: '{a,unit}'}", true),
        ("{team: main, step: run}", false),
        ("{team: main, tags: [gpu]}", true),
        ("{team: main, tags: [gpu, big]}", true),
        ("{team: main, tags: [gpu, small]}", false),
    ] {
        let rules = format!("- match: {matching}\n  patch: {{spec: {{runtimeClassName: vm}}}}");
        let step = PlacementSpec {
            tags: vec!["big".to_owned(), "gpu".to_owned()],
            ..spec()
        };
        let pod = pod_for(&step, &ruled(&rules)).unwrap();
        let class = pod.spec.unwrap().runtime_class_name;
        assert_eq!(class.as_deref(), expected.then_some("vm"), "{matching}");
    }
}

#[test]
fn a_kind_and_a_native_type_are_matched_whatever_a_step_is_called() {
    let with = |kind: StepKind, native_type: Option<&str>| {
        let mut step = spec();
        step.labels.kind = kind;
        step.native_type = native_type.map(str::to_owned);
        step
    };
    let put = with(StepKind::Put, Some("kubernetes"));
    // A task of that name, a put of a type that the pipeline calls so, and another native type.
    let mut task = with(StepKind::Task, None);
    task.labels.step = "kubernetes".to_owned();
    let own_type = with(StepKind::Put, None);
    let other_type = with(StepKind::Put, Some("git"));
    let check = with(StepKind::Check, Some("kubernetes"));
    for (matching, expected) in [
        (
            "{team: main, kind: put, type: kubernetes}",
            [true, false, false, false, false],
        ),
        (
            "{team: main, type: kubernetes}",
            [true, false, false, false, true],
        ),
        ("{team: main, kind: put}", [true, false, true, true, false]),
        (
            "{team: main, kind: check, type: kubernetes}",
            [false, false, false, false, true],
        ),
        // The checks of all pipelines of a team run in one pod.
        (
            "{team: main, pipeline: '*', type: kubernetes}",
            [true, false, false, false, false],
        ),
        (
            "{team: main, step: '*', type: kubernetes}",
            [true, false, false, false, false],
        ),
    ] {
        let rules =
            format!("- match: {matching}\n  patch: {{spec: {{serviceAccountName: deployer}}}}");
        let target = ruled(&rules);
        let steps = [&put, &task, &own_type, &other_type, &check];
        let found = steps.map(|step| {
            let pod = pod_for(step, &target).unwrap();
            pod.spec.unwrap().service_account_name.as_deref() == Some("deployer")
        });
        assert_eq!(found, expected, "{matching}");
    }
}

#[test]
fn a_step_without_a_job_matches_no_pattern_for_jobs() {
    let mut step = spec();
    step.labels.job = None;
    let rules = "- match: {team: main, job: '*'}\n  patch: {spec: {runtimeClassName: vm}}";
    let pod = pod_for(&step, &ruled(rules)).unwrap();
    assert_eq!(pod.spec.unwrap().runtime_class_name, None);
}

#[test]
fn all_that_match_apply_in_order_and_lists_are_merged() {
    let pod = pod(r"
- match: {team: main}
  patch:
    metadata: {labels: {cost: ci}, annotations: {a: '1'}}
    spec:
      nodeSelector: {pool: a, disk: ssd}
      tolerations: [{key: a, operator: Exists}]
      runtimeClassName: first
      volumes: [{name: data, emptyDir: {sizeLimit: 1}}]
      containers:
      - {name: step, resources: {limits: {nvidia.com/gpu: 1}}, volumeMounts: [{name: data, mountPath: /data}]}
- match: {team: main}
  patch:
    spec:
      nodeSelector: {pool: b}
      tolerations: [{key: b, operator: Exists}]
      runtimeClassName: second
      containers: [{name: proxy, image: proxy:1}]
");
    let spec = &pod["spec"];
    assert_eq!(pod["metadata"]["labels"]["cost"], "ci");
    assert_eq!(pod["metadata"]["labels"]["airside.dev/team"], "main");
    assert_eq!(spec["nodeSelector"], json!({"pool": "b", "disk": "ssd"}));
    assert_eq!(spec["tolerations"].as_array().unwrap().len(), 2);
    assert_eq!(spec["runtimeClassName"], "second");
    let [step, proxy] = &spec["containers"].as_array().unwrap()[..] else {
        panic!("{spec}")
    };
    assert_eq!(proxy["image"], "proxy:1");
    assert_eq!(step["command"], json!(["/.airside/bin/airside-shim"]));
    let limits = json!({"memory": "1048576", "nvidia.com/gpu": "1"});
    assert_eq!(step["resources"]["limits"], limits);
    assert_eq!(step["resources"]["requests"]["cpu"], "500m");
    let mounts = step["volumeMounts"].as_array().unwrap();
    assert_eq!(mounts.len(), 3, "{mounts:?}");
    assert_eq!(spec["volumes"].as_array().unwrap().len(), 3);
    assert_eq!(spec["volumes"][2]["emptyDir"]["sizeLimit"], "1");
}

#[test]
fn an_account_brings_its_token_unless_the_rule_says_no() {
    for (patch, expected) in [
        ("{serviceAccountName: deployer}", true),
        (
            "{serviceAccountName: deployer, automountServiceAccountToken: false}",
            false,
        ),
    ] {
        let pod = pod(&format!(
            "- match: {{team: main}}\n  patch: {{spec: {patch}}}"
        ));
        assert_eq!(pod["spec"]["serviceAccountName"], "deployer");
        assert_eq!(pod["spec"]["automountServiceAccountToken"], expected);
    }
    let others = pod("- match: {team: other}\n  patch: {spec: {serviceAccountName: deployer}}");
    assert_eq!(others["spec"]["automountServiceAccountToken"], false);
}

#[test]
fn a_sidecar_of_the_shims_init_container_comes_after_it() {
    let mut target = ruled(
        "- match: {team: main}\n  patch: {spec: {initContainers: [{name: proxy, image: p:1, restartPolicy: Always}]}}",
    );
    target.shim = targets::ShimDelivery::InitContainer;
    let pod = pod_for(&spec(), &target).unwrap().spec.unwrap();
    let names: Vec<_> = (pod.init_containers.unwrap().into_iter())
        .map(|container| container.name)
        .collect();
    assert_eq!(names, ["airside-shim", "proxy"]);
}

#[test]
fn no_rule_leaves_the_pod_as_it_is() {
    let plain = pod_for(&spec(), &target("")).unwrap();
    let ruled = ruled("- match: {team: other}\n  patch: {spec: {runtimeClassName: vm}}");
    assert_eq!(pod_for(&spec(), &ruled).unwrap(), plain);
}
