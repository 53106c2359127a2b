use serde_json::{Value, json};

use super::*;

const HEX: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn known(images: &[(&str, u64, Placement)]) -> Known {
    let entry = |(name, size, placement): &(&str, u64, Placement)| {
        let image = KnownImage {
            label: format!("images.airside.dev/{}", name.replace([':', '/'], "-")),
            digest: Digest::parse(&format!("sha256:{HEX}")).unwrap(),
            size: *size,
            nodes: 1,
            placement: placement.clone(),
        };
        (name.parse().unwrap(), image)
    };
    images.iter().map(entry).collect()
}

fn mode(mode: PlacementMode) -> Placement {
    Placement {
        mode,
        gate_nodes: 1,
        ..Placement::default()
    }
}

fn pod(spec: Value) -> Pod {
    serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": spec})).unwrap()
}

/// What comes out, which must stay as it is when it goes in again.
fn placed(spec: Value, known: &Known) -> Value {
    let mut pod = pod(spec);
    place(&mut pod, known);
    let once = pod.clone();
    assert!(!place(&mut pod, known), "a second time changes nothing");
    assert_eq!(pod, once);
    serde_json::to_value(once.spec).unwrap()
}

#[test]
fn nodes_with_the_images_are_preferred_by_their_size() {
    let known = known(&[
        ("app:1", 300, mode(PlacementMode::Prefer)),
        ("tools:2", 100, mode(PlacementMode::Prefer)),
    ]);
    let spec = placed(
        json!({
            "containers": [{"name": "a", "image": "docker.io/library/app:1", "imagePullPolicy": "Always"},
                           {"name": "b", "image": "stranger"}],
            "volumes": [{"name": "t", "image": {"reference": "tools:2"}}],
        }),
        &known,
    );
    insta::assert_snapshot!(serde_json::to_string_pretty(&spec).unwrap());
}

#[test]
fn a_required_image_is_a_node_selector() {
    let known = known(&[("app:1", 1, mode(PlacementMode::Require))]);
    let spec = placed(
        json!({"containers": [], "nodeSelector": {"zone": "a"}, "initContainers": [{"name": "i", "image": "app:1"}]}),
        &known,
    );
    let expected = json!({"zone": "a", "images.airside.dev/app-1": "present"});
    assert_eq!(spec["nodeSelector"], expected);
    assert_eq!(spec["initContainers"][0]["imagePullPolicy"], "IfNotPresent");
}

#[test]
fn a_gate_stands_until_enough_nodes_have_the_image() {
    for (nodes, gates) in [(1, Value::Null), (2, json!([{"name": GATE}]))] {
        let placement = Placement {
            gate_nodes: nodes,
            ..mode(PlacementMode::Gate)
        };
        let spec = placed(
            json!({"containers": [{"name": "a", "image": "app:1"}]}),
            &known(&[("app:1", 1, placement)]),
        );
        assert_eq!(spec["schedulingGates"], gates, "{nodes}");
    }
}

#[test]
fn a_tag_is_pinned_if_the_set_says_so() {
    let placement = Placement {
        pin_digest: true,
        ..mode(PlacementMode::Prefer)
    };
    let mut pod = pod(json!({"containers": [{"name": "a", "image": "app:1"}]}));
    assert!(place(&mut pod, &known(&[("app:1", 1, placement)])));
    let image = pod.spec.unwrap().containers.remove(0).image.unwrap();
    assert_eq!(image, format!("app:1@sha256:{HEX}"));
}

#[test]
fn what_has_its_place_is_left_alone() {
    let known = known(&[
        ("app:1", 1, mode(PlacementMode::Require)),
        ("free:1", 1, mode(PlacementMode::None)),
    ]);
    let with = |metadata: Value, image: &str, node: Option<&str>| -> Pod {
        serde_json::from_value(json!({
            "metadata": metadata,
            "spec": {"containers": [{"name": "a", "image": image}], "nodeName": node},
        }))
        .unwrap()
    };
    let owner = json!({"ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u"}]});
    let mirror = json!({"annotations": {"kubernetes.io/config.mirror": "x"}});
    for mut pod in [
        with(owner, "app:1", None),
        with(mirror, "app:1", None),
        with(json!({}), "app:1", Some("n1")),
        with(json!({}), "free:1", None),
        with(json!({}), "no image at all", None),
        Pod::default(),
    ] {
        let before = pod.clone();
        assert!(!place(&mut pod, &known));
        assert_eq!(pod, before);
    }
}
