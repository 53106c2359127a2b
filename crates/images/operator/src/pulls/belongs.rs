//! Decides from sets if an image belongs on a node, and which logins are for it.

use airside_image_rules::{ImageSet, PullRequest, ResolvedImage, selection};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt as _;

use super::permits::Need;
use crate::{deletion::is_being_deleted, monitor::Secrets, world::ClusterSnapshot};

/// The reason why an image belongs on a node, and how it may be pulled.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Belongs {
    pub(crate) need: Need,
    /// Pull secrets of every set that wants the image there, in their order.
    pub(crate) secrets: Vec<Secrets>,
}

/// Decides if and why an image belongs on a node. None if no set wants it there.
pub(crate) fn belongs(
    moment: &ClusterSnapshot,
    node: &str,
    asked: &PullRequest,
) -> Option<Belongs> {
    let node = moment.nodes.iter().find(|found| found.name_any() == node)?;
    let wanting = moment
        .sets
        .iter()
        .filter_map(|set| Some((set, wanted(set, node, asked)?)));
    let mut belongs: Option<Belongs> = None;
    for (set, bytes) in wanting {
        let belongs = belongs.get_or_insert_default();
        let need = Need {
            priority: set.spec.priority,
            bytes,
        };
        belongs.need = belongs.need.max(need);
        if !set.spec.pull_secrets.is_empty() {
            belongs.secrets.push(Secrets {
                namespace: set.namespace().unwrap_or_default(),
                names: set.spec.pull_secrets.clone(),
            });
        }
    }
    belongs
}

/// Returns the size of the image on the node, if the set wants it there.
fn wanted(set: &ImageSet, node: &Node, asked: &PullRequest) -> Option<u64> {
    if is_being_deleted(set) || !selection::selects(&set.spec, node) {
        return None;
    }
    let platform = selection::platform(node)?;
    let is_asked = |image: &&ResolvedImage| {
        let manifest = image.platforms.get(&platform).map(|it| it.digest.as_str());
        image.image == asked.image
            && (image.digest == asked.digest || manifest == Some(asked.digest.as_str()))
    };
    let image = set
        .status
        .iter()
        .flat_map(|status| &status.images)
        .find(is_asked)?;
    Some(image.platforms.get(&platform)?.size_bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;

    fn set(name: &str, more: &Value) -> Arc<ImageSet> {
        let mut set = json!({
            "apiVersion": "images.airside.dev/v1alpha1", "kind": "ImageSet",
            "metadata": {"name": name, "namespace": "n"},
            "spec": {"images": [{"image": "r.example/a:1"}]},
            "status": {"counts": {"images": 1, "nodes": 1}, "images": [{
                "image": "r.example/a:1", "digest": "sha256:index", "state": "found",
                "platforms": {"linux/amd64": {"digest": "sha256:manifest", "id": "sha256:id", "sizeBytes": 7}},
            }]},
        });
        for (key, value) in more.as_object().unwrap() {
            set["spec"][key] = value.clone();
        }
        Arc::new(serde_json::from_value(set).unwrap())
    }

    fn moment(sets: Vec<Arc<ImageSet>>) -> ClusterSnapshot {
        let node = |name: &str, zone: &str, architecture: &str| {
            Arc::new(
                serde_json::from_value(json!({
                    "metadata": {"name": name, "labels": {"zone": zone}},
                    "status": {"nodeInfo": {"operatingSystem": "linux", "architecture": architecture,
                        "bootID": "", "containerRuntimeVersion": "", "kernelVersion": "", "kubeProxyVersion": "",
                        "kubeletVersion": "", "machineID": "", "osImage": "", "systemUUID": ""}},
                }))
                .unwrap(),
            )
        };
        ClusterSnapshot {
            sets,
            nodes: vec![
                node("a", "one", "amd64"),
                node("b", "two", "amd64"),
                node("c", "one", "arm64"),
            ],
            node_images: Default::default(),
        }
    }

    #[test]
    fn only_what_a_set_wants_there() {
        let moment = moment(vec![
            set(
                "s",
                &json!({"nodes": {"matchLabels": {"zone": "one"}}, "pullSecrets": ["x"], "priority": 2}),
            ),
            set(
                "t",
                &json!({"nodes": {"matchLabels": {"zone": "one"}}, "priority": 1}),
            ),
        ]);
        let ask = |node: &str, image: &str, digest: &str| {
            let request = PullRequest {
                image: image.to_owned(),
                digest: digest.to_owned(),
            };
            belongs(&moment, node, &request)
        };
        let found = ask("a", "r.example/a:1", "sha256:index").unwrap();
        assert_eq!(
            found.need,
            Need {
                priority: 2,
                bytes: 7
            }
        );
        assert_eq!(found.secrets.len(), 1);
        assert!(ask("a", "r.example/a:1", "sha256:manifest").is_some());
        for (node, image, digest) in [
            ("b", "r.example/a:1", "sha256:index"),
            ("c", "r.example/a:1", "sha256:index"),
            ("gone", "r.example/a:1", "sha256:index"),
            ("a", "r.example/a:2", "sha256:index"),
            ("a", "r.example/a:1", "sha256:other"),
        ] {
            assert_eq!(ask(node, image, digest), None, "{node} {image} {digest}");
        }
    }
}
