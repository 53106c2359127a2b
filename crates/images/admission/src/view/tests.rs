use airside_image_rules::PlacementMode;
use serde_json::{Value, json};

use super::*;

const ONE: &str = "sha256:1111111111111111111111111111111111111111111111111111111111111111";
const TWO: &str = "sha256:2222222222222222222222222222222222222222222222222222222222222222";

fn set(namespace: &str, name: &str, mode: &str, priority: i32, images: Value) -> ImageSet {
    serde_json::from_value(json!({
        "apiVersion": "images.airside.dev/v1alpha1",
        "kind": "ImageSet",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"images": [{"image": "x"}], "priority": priority, "placement": {"mode": mode}},
        "status": {"images": images},
    }))
    .unwrap()
}

fn image(name: &str, digest: &str) -> Value {
    json!({"image": name, "digest": digest, "state": "found",
        "platforms": {"linux/amd64": {"digest": digest, "id": digest, "sizeBytes": 7}}})
}

fn mode_of(view: &View, namespace: &str, name: &str) -> Option<PlacementMode> {
    let found = view.of(namespace).get(&name.parse().unwrap());
    found.map(|image| image.placement.mode)
}

#[test]
fn a_set_speaks_for_its_own_namespace_and_those_at_home_for_all() {
    let sets = [
        set("home", "all", "prefer", 0, json!([image("app:1", ONE)])),
        set(
            "a",
            "mine",
            "require",
            0,
            json!([image("app:1", ONE), image("tool:1", TWO)]),
        ),
    ];
    let view = View::new(sets.iter(), "home", &Counts::new());
    assert_eq!(mode_of(&view, "a", "app:1"), Some(PlacementMode::Require));
    assert_eq!(mode_of(&view, "b", "app:1"), Some(PlacementMode::Prefer));
    assert_eq!(mode_of(&view, "b", "tool:1"), None);
    assert_eq!(mode_of(&view, "home", "app:1"), Some(PlacementMode::Prefer));
}

#[test]
fn the_highest_priority_speaks_then_the_first_name() {
    let images = json!([image("app:1", ONE)]);
    let sets = [
        set("a", "z", "gate", 5, images.clone()),
        set("a", "b", "require", 0, images.clone()),
        set("a", "c", "none", 0, images),
    ];
    let of = |sets: &[ImageSet]| {
        let view = View::new(sets.iter(), "home", &Counts::new());
        mode_of(&view, "a", "app:1")
    };
    assert_eq!(of(&sets), Some(PlacementMode::Gate));
    assert_eq!(of(&sets[1..]), Some(PlacementMode::Require));
}

#[test]
fn an_image_is_known_by_its_name_and_by_its_content() {
    let label = label::key(&format!("app@{ONE}").parse().unwrap());
    let sets = [set("a", "s", "prefer", 0, json!([image("app:1", ONE)]))];
    let counts = Counts::from([(label.clone(), 3)]);
    let view = View::new(sets.iter(), "home", &counts);
    for name in [
        "app:1".to_owned(),
        format!("app@{ONE}"),
        format!("app:9@{ONE}"),
    ] {
        let found = view.of("a").get(&name.parse().unwrap()).unwrap();
        assert_eq!(
            (found.label.as_str(), found.nodes, found.size),
            (label.as_str(), 3, 7)
        );
    }
}

#[test]
fn what_is_not_resolved_or_goes_is_not_known() {
    let mut going = set("a", "going", "prefer", 0, json!([image("gone:1", ONE)]));
    going.metadata.deletion_timestamp =
        Some(serde_json::from_value(json!("2026-11-16T00:00:00Z")).unwrap());
    let images = json!([
        {"image": "new:1", "state": "pending"},
        {"image": "not an image", "digest": ONE, "state": "found"},
        {"image": "bad:1", "digest": "sha256:12", "state": "found"},
    ]);
    let sets = [going, set("a", "s", "prefer", 0, images)];
    assert!(
        View::new(sets.iter(), "home", &Counts::new())
            .of("a")
            .is_empty()
    );
}
