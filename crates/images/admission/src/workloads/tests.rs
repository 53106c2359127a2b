use airside_image_rules::{Placement, placement::KnownImage};
use serde_json::{Value, json};

use super::*;

fn known(mode: PlacementMode) -> KnownImages {
    let image: Reference =
        "app@sha256:1111111111111111111111111111111111111111111111111111111111111111"
            .parse()
            .unwrap();
    let known = KnownImage {
        label: "images.airside.dev/x".to_owned(),
        digest: image.digest().unwrap().clone(),
        size: 1,
        nodes: 1,
        placement: Placement {
            mode,
            ..Placement::default()
        },
    };
    KnownImages::from([("app:1".parse().unwrap(), known)])
}

fn deployment(labels: Value, spec: Value) -> Deployment {
    serde_json::from_value(json!({
        "metadata": {"name": "d", "labels": labels},
        "spec": {"selector": {}, "template": {"spec": spec}},
    }))
    .unwrap()
}

#[test]
fn who_opted_in_is_placed_once_and_others_are_told() {
    let plain = json!({"containers": [{"name": "a", "image": "app:1"}]});
    let in_volume =
        json!({"containers": [], "volumes": [{"name": "v", "image": {"reference": "app:1"}}]});
    let other = json!({"containers": [{"name": "a", "image": "other"}]});
    let mut placed = plain.clone();
    placed["nodeSelector"] = json!({"images.airside.dev/old": "present"});
    let yes = json!({"images.airside.dev/place": "true"});
    let no = json!({"images.airside.dev/place": "false"});
    let none = json!({});
    for (labels, spec, is_opted_in, expected) in [
        (&none, &plain, false, Due::Tell),
        (&none, &plain, true, Due::Place),
        (&yes, &plain, false, Due::Place),
        (&yes, &in_volume, false, Due::Place),
        (&no, &plain, true, Due::Nothing),
        (&yes, &other, true, Due::Nothing),
        (&yes, &placed, true, Due::Nothing),
    ] {
        let summary = summary(deployment(labels.clone(), spec.clone()));
        let due = summary.due(&known(PlacementMode::Prefer), is_opted_in);
        assert_eq!(due, expected, "{labels} {spec} {is_opted_in}");
    }
    let summary = summary(deployment(yes, plain));
    assert_eq!(summary.due(&known(PlacementMode::None), true), Due::Nothing);
}
