use k8s_openapi::api::core::v1::{NodeSpec, NodeStatus, NodeSystemInfo};
use serde_json::json;

use super::*;

fn set(nodes: serde_json::Value, platforms: &[&str]) -> ImageSetSpec {
    let spec = json!({"images": [{"image": "busybox"}], "nodes": nodes, "platforms": platforms});
    serde_json::from_value(spec).unwrap()
}

fn node(taints: serde_json::Value) -> Node {
    let mut node = Node {
        spec: Some(NodeSpec {
            taints: serde_json::from_value(taints).unwrap(),
            ..NodeSpec::default()
        }),
        status: Some(NodeStatus {
            node_info: Some(NodeSystemInfo {
                operating_system: "linux".to_owned(),
                architecture: "arm64".to_owned(),
                ..NodeSystemInfo::default()
            }),
            ..NodeStatus::default()
        }),
        ..Node::default()
    };
    let labels =
        [("zone", "a"), ("gpu", "")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    node.metadata.labels = Some(labels.into());
    node
}

#[test]
fn labels_choose() {
    let node = node(json!([]));
    for (nodes, expected) in [
        (json!({}), true),
        (json!({"matchLabels": {"zone": "a"}}), true),
        (json!({"matchLabels": {"zone": "a", "gpu": ""}}), true),
        (json!({"matchLabels": {"zone": "b"}}), false),
        (json!({"matchLabels": {"other": ""}}), false),
        (
            json!({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b", "a"]}]}),
            true,
        ),
        (
            json!({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]}),
            false,
        ),
        (
            json!({"matchExpressions": [{"key": "other", "operator": "NotIn", "values": ["a"]}]}),
            true,
        ),
        (
            json!({"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}),
            true,
        ),
        (
            json!({"matchExpressions": [{"key": "gpu", "operator": "DoesNotExist"}]}),
            false,
        ),
        (
            json!({"matchExpressions": [{"key": "gpu", "operator": "Sounds"}]}),
            false,
        ),
    ] {
        assert_eq!(
            selects(&set(nodes.clone(), &[]), &node),
            expected,
            "{nodes}"
        );
    }
}

#[test]
fn taints_keep_away_unless_tolerated() {
    let tainted = node(json!([{"key": "k", "value": "v", "effect": "NoSchedule"}]));
    for (tolerations, expected) in [
        (json!([]), false),
        (json!([{"operator": "Exists"}]), true),
        (json!([{"key": "k", "operator": "Exists"}]), true),
        (
            json!([{"key": "k", "value": "v", "effect": "NoSchedule"}]),
            true,
        ),
        (json!([{"key": "k", "value": "w"}]), false),
        (
            json!([{"key": "k", "operator": "Exists", "effect": "NoExecute"}]),
            false,
        ),
    ] {
        let nodes = json!({"tolerations": tolerations});
        assert_eq!(
            selects(&set(nodes.clone(), &[]), &tainted),
            expected,
            "{nodes}"
        );
    }
    let mild = node(json!([
        {"key": "k", "effect": "PreferNoSchedule"},
        {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"},
    ]));
    assert!(selects(&set(json!({}), &[]), &mild));
}

#[test]
fn platforms_choose() {
    let node = node(json!([]));
    for (platforms, expected) in [
        (&[][..], true),
        (&["linux/amd64"], false),
        (&["linux/amd64", "linux/arm64"], true),
        (&["linux/arm64/v8"], true),
        (&["windows/arm64"], false),
    ] {
        assert_eq!(
            selects(&set(json!({}), platforms), &node),
            expected,
            "{platforms:?}"
        );
    }
    assert_eq!(platform(&node).as_deref(), Some("linux/arm64"));
}
