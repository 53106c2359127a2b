//! The desired images of this node, from all sets.

use std::collections::BTreeMap;

use airside_image_rules::{ImageSet, PlatformImage, ResolvedImage, plan::DesiredImage, selection};
use airside_oci::{Digest, Reference};
use k8s_openapi::api::core::v1::Node;

/// An image that belongs here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DesiredPull {
    pub(crate) wanted: DesiredImage,
    /// True if a set that wants it names pull secrets: then a pull without a login is of no use.
    pub(crate) needs_login: bool,
    /// Generations of all sets that want it, added up: another number is another spec, and failures
    /// count anew.
    pub(crate) generation: i64,
}

/// Returns the desired images of all sets, each once. A set that is being deleted wants none.
pub(crate) fn wanted<'a>(
    sets: impl Iterator<Item = &'a ImageSet>,
    node: &Node,
) -> Vec<DesiredPull> {
    let Some(platform) = selection::platform(node) else {
        return Vec::new();
    };
    let mut found: BTreeMap<(Reference, Reference), DesiredPull> = BTreeMap::new();
    let sets = sets.filter(|set| set.metadata.deletion_timestamp.is_none());
    for set in sets.filter(|set| selection::selects(&set.spec, node)) {
        let images = set.status.iter().flat_map(|status| &status.images);
        for want in images.filter_map(|image| want(set, image, &platform)) {
            let key = (want.wanted.name.clone(), want.wanted.content.clone());
            match found.get_mut(&key) {
                Some(other) => join(other, &want),
                None => drop(found.insert(key, want)),
            }
        }
    }
    found.into_values().collect()
}

/// Returns the desired image of a resolved one. Its last digest still counts while the registry
/// cannot be asked, or has lost the tag.
fn want(set: &ImageSet, image: &ResolvedImage, platform: &str) -> Option<DesiredPull> {
    let of_platform = of_platform(&image.platforms, platform)?;
    let name: Reference = image.image.parse().ok()?;
    let digest = Digest::parse(&image.digest).ok()?;
    Some(DesiredPull {
        wanted: DesiredImage {
            content: name.at(&digest),
            name,
            id: of_platform.id.clone(),
            size: of_platform.size_bytes,
            pinned: set.spec.pinned,
            priority: set.spec.priority,
            failures_before_error: set.spec.failures_before_error,
        },
        needs_login: !set.spec.pull_secrets.is_empty(),
        generation: set.metadata.generation.unwrap_or_default(),
    })
}

/// The content for `linux/arm64` may be reported as that of `linux/arm64/v8`.
fn of_platform<'a>(
    platforms: &'a BTreeMap<String, PlatformImage>,
    platform: &str,
) -> Option<&'a PlatformImage> {
    let is_variant = |told: &str| {
        let variant = told.strip_prefix(platform);
        variant.is_some_and(|variant| variant.starts_with('/'))
    };
    let exact = platforms.get(platform);
    exact.or_else(|| {
        let mut variants = platforms.iter().filter(|(told, _)| is_variant(told));
        variants.next().map(|(_, image)| image)
    })
}

/// The most that any of the sets asks for.
fn join(one: &mut DesiredPull, other: &DesiredPull) {
    let wanted = &mut one.wanted;
    wanted.pinned |= other.wanted.pinned;
    wanted.priority = wanted.priority.max(other.wanted.priority);
    wanted.failures_before_error = wanted
        .failures_before_error
        .max(other.wanted.failures_before_error);
    one.needs_login |= other.needs_login;
    one.generation += other.generation;
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const A: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

    fn node() -> Node {
        serde_json::from_value(json!({
            "metadata": {"name": "n1", "labels": {"pool": "ci"}},
            "status": {"nodeInfo": {
                "operatingSystem": "linux", "architecture": "arm64", "bootID": "", "containerRuntimeVersion": "",
                "kernelVersion": "", "kubeProxyVersion": "", "kubeletVersion": "", "machineID": "", "osImage": "",
                "systemUUID": "",
            }},
        }))
        .unwrap()
    }

    fn set(spec: Value, image: &str, platform: &str) -> ImageSet {
        let mut all = json!({"images": [{"image": image}]});
        for (key, value) in spec.as_object().unwrap() {
            all[key] = value.clone();
        }
        serde_json::from_value(json!({
            "apiVersion": "images.airside.dev/v1alpha1", "kind": "ImageSet", "metadata": {"name": "s"},
            "spec": all,
            "status": {"images": [{
                "image": image, "digest": A, "state": "error",
                "platforms": {platform: {"digest": A, "id": "sha256:1", "sizeBytes": 7}},
            }]},
        }))
        .unwrap()
    }

    #[test]
    fn two_sets_want_one_image_as_the_more_demanding_does() {
        let one = set(
            json!({"pinned": false, "priority": 5}),
            "app:1",
            "linux/arm64",
        );
        let other = set(
            json!({"failuresBeforeError": 9, "pullSecrets": ["s"]}),
            "docker.io/library/app:1",
            "linux/arm64/v8",
        );
        let found = wanted([&one, &other].into_iter(), &node());
        let [want] = &found[..] else {
            panic!("{found:?}")
        };
        assert!(want.needs_login && want.wanted.pinned);
        assert_eq!(
            (want.wanted.priority, want.wanted.failures_before_error),
            (5, 9)
        );
        assert_eq!(
            want.wanted.content.to_string(),
            format!("docker.io/library/app@{A}")
        );
    }

    #[test]
    fn what_is_not_for_this_node_is_not_wanted() {
        let mut going = set(json!({}), "app:1", "linux/arm64");
        going.metadata.deletion_timestamp = Some(
            k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(jiff::Timestamp::UNIX_EPOCH),
        );
        let elsewhere = json!({"nodes": {"matchLabels": {"pool": "web"}}});
        let none = [
            set(json!({}), "app:1", "linux/amd64"),
            set(json!({}), "app:1", "linux/arm640"),
            set(elsewhere, "app:1", "linux/arm64"),
            set(json!({}), "not a name", "linux/arm64"),
            going,
        ];
        for set in none {
            assert_eq!(wanted([&set].into_iter(), &node()), [], "{set:?}");
        }
    }
}
