//! Placement by the API server itself: a MutatingAdmissionPolicy, for clusters without a webhook.
//!
//! The API server evaluates it for each image set that speaks for a pod, and reads in the set's
//! status which labels nodes have. It does to a pod what `airside_image_rules::placement` does, as
//! far as one set and no clock allow: there are no gates, and where several sets have one image
//! all of them speak. Its expressions are a template file, because they are a program of 100 lines
//! with comments of its own; the result is read as an object and written like the others.

use airside_image_admission::PLACE;
use airside_image_rules::label::{PREFIX, Presence};
use airside_kube_objects::{Manifest, meta};
use k8s_openapi::{
    api::admissionregistration::v1::{
        MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding,
        MutatingAdmissionPolicyBindingSpec, ParamRef,
    },
    apimachinery::pkg::apis::meta::v1::LabelSelector,
};

use crate::check::{InstallError, check_namespace};

/// Name of the policy and of its binding for a set's own namespace.
const NAME: &str = "airside-images-placement";

const TEMPLATE: &str = include_str!("placement.yaml");

/// CEL: the name of an image with its host, as container runtimes read it.
const HOSTED: &str = "!name.contains('/') ? 'docker.io/library/' + name
      : name.split('/')[0] in ['docker.io', 'index.docker.io']
      ? 'docker.io/' + (name.split('/').size() == 2 ? 'library/' : '') + name.split('/', 2)[1]
      : name.split('/')[0].matches('[.:A-Z]|^localhost$') ? name : 'docker.io/' + name";

/// CEL: a name with its host, as image sets have it: with a tag or a digest, and not with both.
const WHOLE: &str = "!hosted.contains('@')
      ? (hosted.lastIndexOf(':') > hosted.lastIndexOf('/') ? hosted : hosted + ':latest')
      : hosted.split('@')[0].lastIndexOf(':') > hosted.lastIndexOf('/')
      ? hosted.substring(0, hosted.split('@')[0].lastIndexOf(':')) + '@' + hosted.split('@')[1] : hosted";

/// Returns the policy and its bindings. Sets of the namespace speak for pods of every other one.
pub fn placement_policy(namespace: &str) -> Result<Manifest, InstallError> {
    check_namespace(namespace)?;
    let policy: MutatingAdmissionPolicy = serde_saphyr::from_str(&filled(namespace))?;
    let shared = format!("{NAME}-shared");
    Ok(Manifest::new()
        .with_comment(
            "Pods start as if the policy were absent rather than not at all: `Ignore`.",
            &policy,
        )
        .with_comment(
            "A set speaks for pods of its own namespace.",
            &binding(NAME, None),
        )
        .with_comment(
            "Sets of this namespace speak for pods of every namespace.",
            &binding(&shared, Some(namespace)),
        ))
}

/// The template with its marks replaced, none of which needs quotes in YAML.
fn filled(namespace: &str) -> String {
    let marks = [
        ("$HOSTED", HOSTED),
        ("$WHOLE", WHOLE),
        ("$NAME", NAME),
        ("$HOME", namespace),
        ("$PLACE", PLACE),
        ("$PREFIX", PREFIX),
        ("$PRESENT", Presence::Present.value()),
    ];
    marks
        .iter()
        .fold(TEMPLATE.to_owned(), |text, (mark, value)| {
            text.replace(mark, value)
        })
}

/// Binds the policy to the sets of one namespace, or of the pod's own if none is named.
fn binding(name: &str, namespace: Option<&str>) -> MutatingAdmissionPolicyBinding {
    MutatingAdmissionPolicyBinding {
        metadata: meta::cluster_wide(name),
        spec: Some(MutatingAdmissionPolicyBindingSpec {
            policy_name: Some(NAME.to_owned()),
            param_ref: Some(ParamRef {
                namespace: namespace.map(str::to_owned),
                selector: Some(LabelSelector::default()),
                parameter_not_found_action: Some("Allow".to_owned()),
                name: None,
            }),
            ..MutatingAdmissionPolicyBindingSpec::default()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_is_filled_in() {
        let text = filled("airside-images");
        let marks = text.matches('$').count();
        assert_eq!(marks, text.matches("localhost$").count(), "{text}");
    }

    #[test]
    fn the_policy_and_its_bindings() {
        let manifest = placement_policy("airside-images").unwrap();
        insta::assert_snapshot!(manifest.to_yaml().unwrap());
    }

    #[test]
    fn a_namespace_that_is_none() {
        for namespace in ["", "A", "a: b"] {
            assert!(placement_policy(namespace).is_err(), "{namespace}");
        }
    }
}
