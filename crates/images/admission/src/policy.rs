//! Placement by the API server itself: a MutatingAdmissionPolicy, where nobody wants a server of ours for it.
//!
//! Its expressions are asked about each image set that speaks for a pod, and read in the set's status which labels nodes
//! have. What they do to a pod is what `image_sets::placement` does, as far as one set and no clock allow: there are no
//! gates, and where several sets have one image all of them speak.

use airside_image_rules::{
    is_object_name,
    label::{PREFIX, Presence},
};

use crate::{ManifestError, PLACE};

/// Of the policy and its bindings.
const NAME: &str = "airside-images-placement";

const TEXT: &str = include_str!("policy/placement.yaml");

/// A name with its host, as container runtimes read it.
const HOSTED: &str = "!name.contains('/') ? 'docker.io/library/' + name
      : name.split('/')[0] in ['docker.io', 'index.docker.io']
      ? 'docker.io/' + (name.split('/').size() == 2 ? 'library/' : '') + name.split('/', 2)[1]
      : name.split('/')[0].matches('[.:A-Z]|^localhost$') ? name : 'docker.io/' + name";

/// That, as sets have it: with a tag or a digest, and not with both.
const WHOLE: &str = "!hosted.contains('@')
      ? (hosted.lastIndexOf(':') > hosted.lastIndexOf('/') ? hosted : hosted + ':latest')
      : hosted.split('@')[0].lastIndexOf(':') > hosted.lastIndexOf('/')
      ? hosted.substring(0, hosted.split('@')[0].lastIndexOf(':')) + '@' + hosted.split('@')[1] : hosted";

/// The policy and its bindings, as YAML. Sets of the namespace speak for every other one, whose pods alone are placed.
pub fn placement_policy(namespace: &str) -> Result<String, ManifestError> {
    if !is_object_name(namespace) {
        return Err(ManifestError::Namespace(namespace.to_owned()));
    }
    let filled = [
        ("$HOSTED", HOSTED),
        ("$WHOLE", WHOLE),
        ("$NAME", NAME),
        ("$HOME", namespace),
        ("$PLACE", PLACE),
        ("$PREFIX", PREFIX),
        ("$PRESENT", Presence::Present.value()),
    ];
    let text = filled.iter().fold(TEXT.to_owned(), |text, (mark, value)| {
        text.replace(mark, value)
    });
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn every_part_is_an_object_and_nothing_is_left_to_fill_in() {
        let text = placement_policy("airside-images").unwrap();
        assert!(
            !text.contains('$') || text.matches('$').count() == text.matches("localhost$").count(),
            "{text}"
        );
        let parts: Vec<&str> = text.split("---\n").skip(1).collect();
        let kinds = parts.iter().map(|part| {
            let object: Value = serde_saphyr::from_str(part).unwrap();
            object["kind"].as_str().unwrap().to_owned()
        });
        let binding = "MutatingAdmissionPolicyBinding";
        let expected = ["MutatingAdmissionPolicy", binding, binding];
        assert_eq!(kinds.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_namespace_that_is_none() {
        for namespace in ["", "A", "a: b"] {
            assert!(placement_policy(namespace).is_err(), "{namespace}");
        }
    }
}
