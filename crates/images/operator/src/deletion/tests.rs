use std::{collections::BTreeMap, sync::Arc, time::Duration};

use airside_image_rules::NodeImages;
use k8s_openapi::api::core::v1::Node;
use serde_json::json;

use super::*;

fn set(name: &str, is_deleted: bool) -> Arc<ImageSet> {
    let deleted = is_deleted.then_some("2026-01-01T00:00:00Z");
    Arc::new(
        serde_json::from_value(json!({
            "apiVersion": "images.airside.dev/v1alpha1", "kind": "ImageSet",
            "metadata": {"name": name, "namespace": "n", "deletionTimestamp": deleted},
            "spec": {"images": [{"image": "r.example/a:1"}]},
            "status": {"counts": {"images": 1, "nodes": 1}, "images": [{"image": "r.example/a:1", "state": "found"}]},
        }))
        .unwrap(),
    )
}

fn node(name: &str, ready: &str) -> Arc<Node> {
    let node = json!({"metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": ready}]}});
    Arc::new(serde_json::from_value(node).unwrap())
}

fn lists(name: &str, image: &str) -> (String, Arc<NodeImages>) {
    let images = serde_json::from_value(json!({
        "apiVersion": "images.airside.dev/v1alpha1", "kind": "NodeImages", "metadata": {"name": name},
        "spec": {}, "status": {"heartbeat": "2026-01-01T00:00:00Z", "images": [{"image": image, "state": "present"}]},
    }));
    (name.to_owned(), Arc::new(images.unwrap()))
}

fn held(
    sets: Vec<Arc<ImageSet>>,
    nodes: Vec<Arc<Node>>,
    listed: BTreeMap<String, Arc<NodeImages>>,
) -> HeldImages {
    let clock = Instant::now();
    let moment = ClusterSnapshot {
        sets,
        nodes,
        node_images: listed,
    };
    let mut agents = Agents::new(Duration::from_secs(90));
    agents.observe(&moment, clock);
    super::held(&moment.sets[0], &moment, &agents, clock)
}

#[test]
fn nodes_that_can_let_go_are_waited_for() {
    let nodes = || {
        vec![
            node("well", "True"),
            node("down", "Unknown"),
            node("other", "True"),
        ]
    };
    let listed = || {
        BTreeMap::from([
            lists("well", "r.example/a:1"),
            lists("down", "r.example/a:1"),
            lists("other", "r.example/b:1"),
            lists("gone", "r.example/a:1"),
        ])
    };
    let expected = HeldImages {
        waiting: vec!["r.example/a:1 on well".to_owned()],
        unreachable: vec!["r.example/a:1 on down".to_owned()],
    };
    assert_eq!(held(vec![set("s", true)], nodes(), listed()), expected);
    let shared = held(vec![set("s", true), set("t", false)], nodes(), listed());
    assert_eq!(shared, HeldImages::default(), "another set wants it");
    let both = held(vec![set("s", true), set("t", true)], nodes(), listed());
    assert_eq!(both, expected, "another that goes too does not");
    assert_eq!(
        held(vec![set("s", true)], nodes(), BTreeMap::new()),
        HeldImages::default()
    );
}

#[test]
fn what_is_left_is_told_in_the_status_and_never_at_too_great_a_length() {
    let many = |count: usize, length: usize| HeldImages {
        waiting: vec!["x".repeat(length); count],
        unreachable: vec!["y on n".to_owned()],
    };
    let set = set("s", true);
    let told = |held: &HeldImages| status(&set, held, Timestamp::UNIX_EPOCH);
    let small = told(&many(1, 3));
    assert_eq!(small.left_behind, ["xxx", "y on n"]);
    assert_eq!(small.images.len(), 1, "what was known stays");
    let [ready] = &small.conditions[..] else {
        panic!("{small:?}")
    };
    assert_eq!(
        (ready.status.as_str(), ready.reason.as_str()),
        ("False", "Deleting")
    );
    assert!(ready.message.ends_with("xxx, y on n"), "{}", ready.message);
    for (count, length, ending) in [
        (500, 20, "more"),
        (1, 600, "y on n"),
        (1, 2000, "2 in all, with long names"),
    ] {
        let held = many(count, length);
        assert!(
            held.words().len() < 800 && held.words().ends_with(ending),
            "{}",
            held.words()
        );
        assert!(told(&held).left_behind.len() <= LISTED + 1);
    }
    assert_eq!(
        told(&many(500, 20)).left_behind.last().unwrap(),
        "and 401 more"
    );
    assert_eq!(told(&HeldImages::default()).left_behind, [""; 0]);
}
