use serde_json::{Value, json};

use super::*;

const HEX: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn known(images: &[(&str, u64, Placement)]) -> KnownImages {
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

/// Places a pod, and checks that a second placement changes nothing.
fn placed(spec: Value, known: &KnownImages) -> Value {
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

#[test]
fn who_waits_can_be_found() {
    let placement = Placement {
        gate_nodes: 2,
        ..mode(PlacementMode::Gate)
    };
    let mut pod = pod(json!({"containers": [{"name": "a", "image": "app:1"}]}));
    place(&mut pod, &known(&[("app:1", 1, placement)]));
    assert_eq!(pod.metadata.labels.unwrap()[GATED], "true");
}

#[test]
fn a_gate_opens_by_nodes_by_time_or_because_nobody_wants_it() {
    let created: jiff::Timestamp = "2026-11-16T10:00:00Z".parse().unwrap();
    let after = |seconds: i64| created + jiff::SignedDuration::from_secs(seconds);
    let gated = |nodes: u32, seconds: u32| Placement {
        gate_nodes: nodes,
        gate_seconds: seconds,
        ..mode(PlacementMode::Gate)
    };
    let closed = |seconds| Gate::Closed {
        until: after(seconds),
    };
    let cases = [
        (
            vec![("app:1", 1, gated(1, 60))],
            0,
            Gate::Open(Opened::Present),
        ),
        (vec![("app:1", 1, gated(2, 60))], 0, closed(60)),
        (vec![("app:1", 1, gated(2, 60))], 59, closed(60)),
        (
            vec![("app:1", 1, gated(2, 60))],
            60,
            Gate::Open(Opened::Late),
        ),
        (vec![], 0, Gate::Open(Opened::Unwanted)),
        (
            vec![("app:1", 1, mode(PlacementMode::Prefer))],
            0,
            Gate::Open(Opened::Unwanted),
        ),
        // Each image has its own patience.
        (
            vec![("app:1", 1, gated(2, 60)), ("tools:1", 1, gated(2, 90))],
            70,
            closed(90),
        ),
        (
            vec![("app:1", 1, gated(2, 60)), ("tools:1", 1, gated(1, 90))],
            70,
            Gate::Open(Opened::Late),
        ),
    ];
    let mut pod = pod(
        json!({"containers": [{"name": "a", "image": "app:1"}], "initContainers": [{"name": "t", "image": "tools:1"}]}),
    );
    pod.metadata.creation_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
        created,
    ));
    for (images, seconds, expected) in cases {
        let found = gate_of(&pod, &known(&images), after(seconds));
        assert_eq!(found, expected, "{images:?} after {seconds} s");
    }
}

#[test]
fn containers_that_are_added_use_what_is_there() {
    let placement = Placement {
        pin_digest: true,
        ..mode(PlacementMode::Require)
    };
    let known = known(&[("app:1", 1, placement)]);
    let before = pod(
        json!({"containers": [], "ephemeralContainers": [{"name": "old", "image": "app:1", "imagePullPolicy": "Always"}]}),
    );
    let mut after = before.clone();
    let added = serde_json::from_value(json!({"name": "new", "image": "app:1"})).unwrap();
    let spec = after.spec.as_mut().unwrap();
    spec.ephemeral_containers.as_mut().unwrap().push(added);
    assert!(place_ephemeral(&mut after, Some(&before), &known));
    let spec = serde_json::to_value(after.spec.clone().unwrap()).unwrap();
    let containers = &spec["ephemeralContainers"];
    assert_eq!(containers[0]["imagePullPolicy"], "Always");
    assert_eq!(containers[0]["image"], "app:1");
    assert_eq!(containers[1]["imagePullPolicy"], "IfNotPresent");
    assert_eq!(containers[1]["image"], format!("app:1@sha256:{HEX}"));
    assert_eq!(spec["nodeSelector"], Value::Null, "it has its place");
    assert!(!place_ephemeral(&mut after.clone(), Some(&after), &known));
}

fn template(spec: Value) -> k8s_openapi::api::core::v1::PodTemplateSpec {
    serde_json::from_value(json!({"spec": spec})).unwrap()
}

#[test]
fn a_template_never_keeps_pods_from_starting() {
    for (placement, selector, image) in [
        (
            mode(PlacementMode::Require),
            Value::Null,
            "app:1".to_owned(),
        ),
        (
            Placement {
                pin_digest: true,
                ..mode(PlacementMode::Require)
            },
            json!({"images.airside.dev/app-1": "present"}),
            format!("app:1@sha256:{HEX}"),
        ),
        (
            Placement {
                gate_nodes: 9,
                ..mode(PlacementMode::Gate)
            },
            Value::Null,
            "app:1".to_owned(),
        ),
    ] {
        let known = known(&[("app:1", 1, placement.clone())]);
        let mut template = template(json!({"containers": [{"name": "a", "image": "app:1"}]}));
        assert!(place_template(&mut template, &known), "{placement:?}");
        let spec = serde_json::to_value(template.spec.unwrap()).unwrap();
        assert_eq!(spec["nodeSelector"], selector, "{placement:?}");
        assert_eq!(spec["containers"][0]["image"], image, "{placement:?}");
        assert_eq!(spec["schedulingGates"], Value::Null, "{placement:?}");
    }
}

#[test]
fn a_template_forgets_what_a_name_meant_once() {
    let known = known(&[("app:1", 1, mode(PlacementMode::Prefer))]);
    let term = |key: &str| json!({"weight": 100, "preference": {"matchExpressions": [{"key": key, "operator": "In", "values": ["present"]}]}});
    let (zone, old, new) = (
        term("zone"),
        term("images.airside.dev/old"),
        term("images.airside.dev/app-1"),
    );
    let mut found = template(json!({
        "containers": [{"name": "a", "image": "app:1"}],
        "nodeSelector": {"images.airside.dev/old": "present"},
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [zone, old]}},
    }));
    assert!(place_template(&mut found, &known));
    assert!(!place_template(&mut found.clone(), &known));
    let spec = serde_json::to_value(found.spec.unwrap()).unwrap();
    let nodes = &spec["affinity"]["nodeAffinity"];
    assert_eq!(
        nodes["preferredDuringSchedulingIgnoredDuringExecution"],
        json!([zone, new])
    );
    assert_eq!(spec["nodeSelector"], Value::Null);
    // And all of it, where no set has its images any more.
    let mut alone = template(json!({
        "containers": [{"name": "a", "image": "other"}],
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [old]}},
    }));
    assert!(place_template(&mut alone, &known));
    assert_eq!(alone.spec.unwrap().affinity, None);
}
