//! Names of images moved to a registry inside the cluster, for runtimes that know no mirrors. Off
//! unless asked for.

use std::{fmt, str::FromStr};

use airside_image_rules::placement::KnownImages;
use airside_oci::Reference;
use k8s_openapi::api::core::v1::{Pod, PodSpec};

/// Registry that names are moved to: `docker.io/library/busybox:1` becomes
/// `HOST/docker.io/library/busybox:1`, and `r.example:5000/a:1` becomes `HOST/r.example__5000/a:1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewrite {
    host: String,
}

#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not a registry's host; give one such as registry.example.com:5000")]
pub struct BadHost(String);

impl FromStr for Rewrite {
    type Err = BadHost;

    fn from_str(host: &str) -> Result<Self, Self::Err> {
        let name: Result<Reference, _> = format!("{host}/x").parse();
        match name {
            Ok(name) if name.repository().host() == host => Ok(Self {
                host: host.to_owned(),
            }),
            _ => Err(BadHost(host.to_owned())),
        }
    }
}

impl fmt::Display for Rewrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.host)
    }
}

impl Rewrite {
    /// Moves the names of a pod's images, and returns true if any was moved. An image that sets
    /// keep stays, as it is on nodes under its name.
    pub(crate) fn pod(&self, pod: &mut Pod, known: &KnownImages) -> bool {
        let Some(spec) = pod.spec.as_mut() else {
            return false;
        };
        let mut is_changed = false;
        for image in images(spec) {
            let Ok(name) = image.parse::<Reference>() else {
                continue;
            };
            if name.repository().host() == self.host || known.contains_key(&name) {
                continue;
            }
            let Some(moved) = name.repository().beneath(&self.host) else {
                continue;
            };
            *image = moved.with(name.which().clone()).to_string();
            is_changed = true;
        }
        is_changed
    }
}

fn images(spec: &mut PodSpec) -> impl Iterator<Item = &mut String> {
    let init = spec.init_containers.iter_mut().flatten();
    let containers = spec.containers.iter_mut().chain(init);
    let volumes = spec.volumes.iter_mut().flatten();
    containers
        .filter_map(|container| container.image.as_mut())
        .chain(volumes.filter_map(|volume| volume.image.as_mut()?.reference.as_mut()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_move_but_for_those_that_are_there() {
        let rewrite: Rewrite = "inside:5000".parse().unwrap();
        let mut pod: Pod = serde_json::from_value(json!({"spec": {
            "initContainers": [{"name": "i", "image": "quay.io/a/b"}],
            "containers": [
                {"name": "a", "image": "busybox:1"},
                {"name": "b", "image": "inside:5000/own:1"},
                {"name": "c", "image": "no image"},
                {"name": "d", "image": "r.example:5000/a:1"},
                {"name": "e", "image": "[::1]:5000/a:1"}],
            "volumes": [{"name": "v", "image": {"reference": "tools:2"}}],
        }}))
        .unwrap();
        assert!(rewrite.pod(&mut pod, &KnownImages::new()));
        let once = pod.clone();
        assert!(!rewrite.pod(&mut pod, &KnownImages::new()), "only once");
        let spec = serde_json::to_value(once.spec.unwrap()).unwrap();
        assert_eq!(
            spec["initContainers"][0]["image"],
            "inside:5000/quay.io/a/b:latest"
        );
        let images: Vec<_> = (0..5)
            .map(|at| spec["containers"][at]["image"].as_str().unwrap())
            .collect();
        assert_eq!(
            images,
            [
                "inside:5000/docker.io/library/busybox:1",
                "inside:5000/own:1",
                "no image",
                "inside:5000/r.example__5000/a:1",
                "[::1]:5000/a:1"
            ]
        );
        assert_eq!(
            spec["volumes"][0]["image"]["reference"],
            "inside:5000/docker.io/library/tools:2"
        );
    }

    #[test]
    fn what_is_no_host() {
        for bad in [
            "",
            "inside",
            "a b:1",
            "https://inside:5000",
            "inside:5000/path",
        ] {
            assert!(bad.parse::<Rewrite>().is_err(), "{bad}");
        }
    }
}
