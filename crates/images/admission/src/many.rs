//! Test data: more sets than a cluster has, and the pods that use them.

use airside_image_rules::ImageSet;
use serde_json::{Value, json};

use crate::{View, view::Counts};

/// This many sets of one namespace, with this many images each.
pub(crate) fn view(sets: usize, images: usize) -> View {
    let set = |number: usize| -> ImageSet {
        let images: Vec<Value> = (0..images)
            .map(|image| {
                let digest = format!("sha256:{:064x}", number * 40 + image);
                json!({"image": format!("registry.example.com/team-{number}/app-{image}:1"), "digest": digest, "state": "found",
                    "platforms": {"linux/amd64": {"digest": digest, "id": digest, "sizeBytes": 1000}}})
            })
            .collect();
        serde_json::from_value(json!({
            "apiVersion": "images.airside.dev/v1alpha1", "kind": "ImageSet",
            "metadata": {"name": format!("s-{number}"), "namespace": "team"},
            "spec": {"images": [{"image": "x"}]}, "status": {"images": images},
        }))
        .unwrap()
    };
    let sets: Vec<ImageSet> = (0..sets).map(set).collect();
    View::new(sets.iter(), "home", &Counts::new())
}

/// A pod of three containers with this many variables each, as the API server sends it. Number 0
/// uses an image that every view has.
pub(crate) fn review(number: usize, variables: usize) -> Vec<u8> {
    let image = format!(
        "registry.example.com/team-{}/app-{}:1",
        number % 50,
        number % 40
    );
    let env: Vec<Value> = (0..variables)
        .map(|at| json!({"name": format!("V{at}"), "value": "x".repeat(40)}))
        .collect();
    let container =
        |name: &str| json!({"name": name, "image": image, "env": env, "imagePullPolicy": "Always"});
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u", "kind": {"group": "", "version": "v1", "kind": "Pod"}, "operation": "CREATE", "namespace": "team",
        "object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
            "spec": {"initContainers": [container("i")], "containers": [container("a"), container("b")]}},
    }});
    serde_json::to_vec(&review).unwrap()
}
