//! Resource types that Concourse's workers come with and Airside does not have: what they mean
//! here, and the line by which a pipeline brings them itself.

mod docker_image;

use serde_json::{Map, Value};

/// The type that stands for images that Docker pulls, builds and pushes.
const DOCKER_IMAGE: &str = "docker-image";

/// Concourse's base types, and the images that have them.
const ELSEWHERE: &[(&str, &str)] = &[
    ("bosh-io-release", "concourse/bosh-io-release-resource"),
    ("bosh-io-stemcell", "concourse/bosh-io-stemcell-resource"),
    ("cf", "concourse/cf-resource"),
    (DOCKER_IMAGE, "concourse/docker-image-resource"),
    ("hg", "concourse/hg-resource"),
    ("tracker", "concourse/tracker-resource"),
];

/// A base type and a source, as checks and gets use them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pulled {
    pub(crate) type_: String,
    pub(crate) source: Map<String, Value>,
}

impl Pulled {
    /// Checks and gets of `docker-image` mean `registry-image`, whose source has other keys.
    pub(crate) fn new(type_: &str, source: Map<String, Value>) -> Self {
        match registry_type(type_) {
            Some(type_) => Self {
                type_: type_.to_owned(),
                source: docker_image::registry_source(source),
            },
            None => Self {
                type_: type_.to_owned(),
                source,
            },
        }
    }
}

/// The type that checks and gets of a base type really use, where that is another.
pub fn registry_type(type_: &str) -> Option<&'static str> {
    (type_ == DOCKER_IMAGE).then_some("registry-image")
}

/// Returns the type and source that checks and gets of a base type really use.
pub fn pulled_source(type_: &str, source: Map<String, Value>) -> (String, Map<String, Value>) {
    let Pulled { type_, source } = Pulled::new(type_, source);
    (type_, source)
}

/// Says that a base type is not there, and which line in `resource_types` brings it.
pub fn missing_base_type(type_: &str) -> String {
    let line = resource_types_line(type_);
    if type_ == DOCKER_IMAGE {
        return format!(
            "Airside reads resource type `{type_}` as `registry-image`, which can be checked and got. To put an image, \
             build it in a task and put the file to a `registry-image`: on Kubernetes without privileges, as \
             examples/source-to-image.yml does, and on one machine in a privileged task, as examples/release.yml does; or bring Docker's type with this line in `resource_types`: {line}"
        );
    }
    format!(
        "resource type `{type_}` is not part of Airside; the pipeline can bring it with this line in \
         `resource_types`: {line}"
    )
}

/// The entry of `resource_types` that brings a type. Of types that are not Concourse's the image is
/// for the user to know.
pub fn resource_types_line(type_: &str) -> String {
    let known = ELSEWHERE.iter().find(|(name, _)| *name == type_);
    let image = known.map_or("…", |(_, image)| *image);
    // It runs a Docker of its own.
    let privileged = match type_ {
        DOCKER_IMAGE => ", privileged: true",
        _ => "",
    };
    format!("{{name: {type_}, type: registry-image, source: {{repository: {image}}}{privileged}}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_brings_a_type_is_one_that_loads() {
        for type_ in ["cf", "docker-image", "hg"] {
            let words = missing_base_type(type_);
            let (_, line) = words.split_once("`resource_types`: ").unwrap();
            let pipeline = format!(
                "resource_types:\n- {line}\nresources: [{{name: r, type: {type_}}}]\njobs: [{{name: j, plan: [{{get: r}}]}}]"
            );
            let config = crate::load(&pipeline).unwrap().config;
            let brought = config.resource_type(type_).unwrap();
            assert_eq!(brought.type_, "registry-image");
            assert_eq!(brought.privileged, type_ == "docker-image");
        }
        assert!(missing_base_type("mine").ends_with("{repository: …}}"));
    }
}
