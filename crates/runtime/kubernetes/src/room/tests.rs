use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::*;

fn pod(name: &str, node: &str, requests: Value) -> Pod {
    serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {"nodeName": node, "containers": [{"name": "step", "resources": {"requests": requests}}]},
    }))
    .unwrap()
}

fn held(name: &str, node: &str, cpu: &str) -> PodShare {
    PodShare::of(&pod(name, node, json!({"cpu": cpu, "memory": "128Mi"})))
}

fn wanted(cpu: &str) -> PodShare {
    held("wanted", "", cpu)
}

/// Plans with pods that are all kept, in this order.
fn planned(reason: &str, wanted: &PodShare, held: &[PodShare], shrinks: bool) -> Plan {
    let kept: Vec<Handle> = held.iter().map(|it| it.handle.clone()).collect();
    let shortage = quota_shortage(reason).or_else(|| node_shortage(reason));
    let shortage = shortage.unwrap();
    plan(&shortage, wanted, held, &kept, |_| shrinks)
}

fn handles(names: &[&str]) -> Vec<Handle> {
    names.iter().map(|name| Handle::new(*name)).collect()
}

const NO_CPU: &str = "no node takes the pod yet: 0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, \
                      preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.";

#[test]
fn hostile_a_step_that_can_never_fit_takes_nobodys_kept_pods() {
    let kept: Vec<PodShare> = (0..6)
        .map(|n| held(&format!("k{n}"), "n1", "100m"))
        .collect();
    assert_eq!(planned(NO_CPU, &wanted("100"), &kept, false), Plan::Wait);
    let quota = "exceeded quota: q, requested: requests.cpu=100, used: requests.cpu=2, limited: requests.cpu=2";
    assert_eq!(planned(quota, &wanted("100"), &kept, false), Plan::Wait);
}

#[test]
fn pods_are_made_smaller_before_any_goes() {
    let kept = [held("a", "n1", "2"), held("b", "n2", "100m")];
    let plan = planned(NO_CPU, &wanted("1"), &kept, true);
    assert_eq!(plan, Plan::Shrink(handles(&["a", "b"])));
    let few = "0/1 nodes are available: 1 Too many pods.";
    let plan = planned(few, &wanted("1"), &kept, true);
    assert_eq!(
        plan,
        Plan::GiveUp(handles(&["a"])),
        "smaller would not help"
    );
}

#[test]
fn as_many_go_as_make_room_on_one_node() {
    let kept = [
        held("a", "n1", "300m"),
        held("b", "n2", "600m"),
        held("c", "n1", "300m"),
        held("d", "n2", "600m"),
        held("e", "n2", "600m"),
    ];
    let plan = |cpu: &str| planned(NO_CPU, &wanted(cpu), &kept, false);
    assert_eq!(plan("200m"), Plan::GiveUp(handles(&["a"])));
    assert_eq!(plan("1"), Plan::GiveUp(handles(&["b", "d"])));
    assert_eq!(plan("2"), Plan::Wait, "no single node frees so much");
}

#[test]
fn what_goes_already_counts_and_nodes_that_would_not_take_it_do_not() {
    let mut leaving = held("a", "n1", "1");
    leaving.leaving = true;
    let kept = [leaving, held("b", "n1", "1")];
    assert_eq!(planned(NO_CPU, &wanted("1"), &kept, false), Plan::Wait);

    let mut picky = pod("wanted", "", json!({"cpu": "1"}));
    let spec = picky.spec.as_mut().unwrap();
    spec.node_selector = Some([("pool".to_owned(), "gpu".to_owned())].into());
    let elsewhere = [held("b", "n1", "1")];
    let plan = planned(NO_CPU, &PodShare::of(&picky), &elsewhere, false);
    assert_eq!(plan, Plan::Wait, "nothing says that n1 is of that pool");
}

#[test]
fn a_quota_says_how_much_must_go() {
    let kept = [held("a", "n1", "100m"), held("b", "n2", "400m")];
    let pods = "exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2";
    assert_eq!(
        planned(pods, &wanted("1"), &kept, true),
        Plan::GiveUp(handles(&["a"]))
    );
    let cpu = "forbidden: exceeded quota: q, requested: requests.cpu=500m,pods=1, used: requests.cpu=1,pods=2, \
               limited: requests.cpu=1200m,pods=9";
    assert_eq!(
        planned(cpu, &wanted("500m"), &kept, false),
        Plan::GiveUp(handles(&["a", "b"]))
    );
    assert!(matches!(
        planned(cpu, &wanted("500m"), &kept, true),
        Plan::Shrink(_)
    ));
}

#[test]
fn what_is_short_is_read_from_words() {
    let nodes = |resources: &[&str], pods| {
        let resources = resources.iter().map(|it| (*it).to_owned()).collect();
        Some(Shortage::Nodes { resources, pods })
    };
    for (reason, expected) in [
        (
            "no node takes the pod yet: 0/1 nodes are available: 1 node(s) had untolerated taint(s)",
            None,
        ),
        ("the API server cannot be asked", None),
        (
            "no node takes the pod yet: 0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.",
            None,
        ),
        (NO_CPU, nodes(&["cpu"], false)),
        (
            "0/3 nodes are available: 1 Insufficient memory, 1 node(s) were unschedulable, 2 Too many pods.",
            nodes(&[], true),
        ),
        (
            "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 Too many pods.",
            nodes(&["nvidia.com/gpu"], true),
        ),
    ] {
        assert_eq!(node_shortage(reason), expected, "{reason}");
        assert_eq!(quota_shortage(reason), None, "{reason}");
    }
}
