//! Kinds of nodes that differ, as far as steps may notice: one node of each kind is worth a look.
//!
//! Only an account that may list nodes finds out; the rights that Airside asks for do not include
//! it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, Node, NodeAffinity, NodeCondition, NodeSelector, NodeSelectorRequirement,
    NodeSelectorTerm, Pod, Taint,
};
use kube::{Api, Client, api::ListParams};

use crate::targets::{Target, Toleration};

/// Number of kinds that are looked at, so that a zoo of nodes costs no more than a handful of pods.
const MAX_KINDS: usize = 5;
/// Number of nodes that are listed: more than any cluster has kinds of.
const LISTED: u32 = 500;

/// Returns the name of one node of each kind that the target's steps may come to; none where
/// nothing is known about nodes.
pub(super) async fn one_of_each(client: &Client, target: &Target) -> Vec<String> {
    let nodes: Api<Node> = Api::all(client.clone());
    let listed = nodes.list(&ListParams::default().limit(LISTED)).await;
    listed.map_or_else(|_| Vec::new(), |listed| choose(&listed.items, target))
}

fn choose(nodes: &[Node], target: &Target) -> Vec<String> {
    let mut kinds = BTreeMap::new();
    for node in nodes.iter().filter(|node| admits(node, target)) {
        let (Some(name), Some(kind)) = (&node.metadata.name, kind(node)) else {
            continue;
        };
        kinds.entry(kind).or_insert_with(|| name.clone());
    }
    kinds.into_values().take(MAX_KINDS).collect()
}

/// Returns the properties that decide on a node's user namespaces, image volumes and file systems.
fn kind(node: &Node) -> Option<[String; 4]> {
    let info = node.status.as_ref()?.node_info.as_ref()?;
    Some([
        info.kernel_version.clone(),
        info.container_runtime_version.clone(),
        info.kubelet_version.clone(),
        info.os_image.clone(),
    ])
}

/// Returns true if the scheduler could choose this node for a step now.
fn admits(node: &Node, target: &Target) -> bool {
    let labels = node.metadata.labels.clone().unwrap_or_default();
    let selected = |(key, value): (&String, &String)| labels.get(key) == Some(value);
    let spec = node.spec.clone().unwrap_or_default();
    let repels = |taint: &Taint| {
        let tolerated = |it: &Toleration| tolerates(it, taint);
        taint.effect != "PreferNoSchedule" && !target.tolerations.iter().any(tolerated)
    };
    let taints = spec.taints.unwrap_or_default();
    is_ready(node)
        && spec.unschedulable != Some(true)
        && target.node_selector.iter().all(selected)
        && !taints.iter().any(repels)
}

fn is_ready(node: &Node) -> bool {
    let status = node.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_deref());
    let ready = |it: &NodeCondition| it.type_ == "Ready" && it.status == "True";
    conditions.unwrap_or_default().iter().any(ready)
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let fits = |wanted: String, has: &str| wanted.is_empty() || wanted == has;
    fits(text(&toleration.effect), &taint.effect)
        && fits(text(&toleration.key), &taint.key)
        && (text(&toleration.operator) == "Exists" || text(&toleration.value) == text(&taint.value))
}

/// Sends a pod to this very node, through the scheduler: it must be one that steps come to.
pub(super) fn send_to(pod: &mut Pod, node: &str) {
    let Some(spec) = &mut pod.spec else { return };
    let term = NodeSelectorTerm {
        match_fields: Some(vec![NodeSelectorRequirement {
            key: "metadata.name".to_owned(),
            operator: "In".to_owned(),
            values: Some(vec![node.to_owned()]),
        }]),
        match_expressions: None,
    };
    spec.affinity = Some(Affinity {
        node_affinity: Some(NodeAffinity {
            required_during_scheduling_ignored_during_execution: Some(NodeSelector {
                node_selector_terms: vec![term],
            }),
            ..NodeAffinity::default()
        }),
        ..Affinity::default()
    });
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::pod::tests::target;

    fn node(name: &str, kernel: &str, more: Value) -> Node {
        let mut node = json!({
            "metadata": {"name": name, "labels": {"pool": "ci"}},
            "spec": {},
            "status": {
                "conditions": [{"type": "Ready", "status": "True"}],
                "nodeInfo": {
                    "kernelVersion": kernel, "containerRuntimeVersion": "c", "kubeletVersion": "k", "osImage": "o",
                    "architecture": "amd64", "bootID": "", "kubeProxyVersion": "", "machineID": "",
                    "operatingSystem": "linux", "systemUUID": "",
                },
            },
        });
        for (part, value) in more.as_object().unwrap() {
            for (key, value) in value.as_object().unwrap() {
                node[part][key] = value.clone();
            }
        }
        serde_json::from_value(node).unwrap()
    }

    #[test]
    fn one_of_each_kind_that_steps_may_come_to() {
        let tainted =
            json!({"spec": {"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]}});
        let nodes = [
            node("a1", "6.1", json!({})),
            node("a2", "6.1", json!({})),
            node("b1", "6.2", json!({})),
            node("c1", "6.3", tainted),
            node("d1", "6.4", json!({"spec": {"unschedulable": true}})),
            node("e1", "6.5", json!({"metadata": {"labels": {}}})),
            node(
                "f1",
                "6.6",
                json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}),
            ),
            node(
                "g1",
                "6.7",
                json!({"spec": {"taints": [{"key": "slow", "effect": "PreferNoSchedule"}]}}),
            ),
        ];
        let mut target = target("");
        target.node_selector = [("pool".to_owned(), "ci".to_owned())].into();
        assert_eq!(choose(&nodes, &target), ["a1", "b1", "g1"]);
        for tolerated in [
            json!({"key": "gpu", "operator": "Exists"}),
            json!({"operator": "Exists"}),
            json!({"key": "gpu", "value": "yes", "effect": "NoSchedule"}),
        ] {
            target.tolerations = vec![serde_json::from_value(tolerated).unwrap()];
            assert_eq!(choose(&nodes, &target), ["a1", "b1", "c1", "g1"]);
        }
        target.tolerations =
            vec![serde_json::from_value(json!({"key": "gpu", "value": "no"})).unwrap()];
        assert_eq!(choose(&nodes, &target), ["a1", "b1", "g1"]);
        let zoo: Vec<Node> = (0..9)
            .map(|n| node(&format!("n{n}"), &n.to_string(), json!({})))
            .collect();
        assert_eq!(choose(&zoo, &target).len(), MAX_KINDS);
        assert!(choose(&[], &target).is_empty());
    }

    #[test]
    fn a_pod_is_sent_to_its_node() {
        let mut pod: Pod = serde_json::from_value(json!({"spec": {"containers": []}})).unwrap();
        send_to(&mut pod, "n1");
        let affinity = serde_json::to_value(&pod).unwrap()["spec"]["affinity"].to_string();
        assert!(
            affinity.contains(r#"{"key":"metadata.name","operator":"In","values":["n1"]}"#),
            "{affinity}"
        );
    }
}
