//! Kinds that pods are made from.

use airside_image_rules::{label, placement::KnownImages, placement::place_template};
use airside_oci::Reference;
use k8s_openapi::{
    NamespaceResourceScope,
    api::{
        apps::v1::{Deployment, StatefulSet},
        batch::v1::{CronJob, Job},
        core::v1::PodTemplateSpec,
    },
};
use kube::Resource;
use serde::{Serialize, de::DeserializeOwned};

pub(crate) trait Templated:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + std::fmt::Debug
    + Serialize
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
    fn template(&self) -> Option<&PodTemplateSpec>;
    fn template_mut(&mut self) -> Option<&mut PodTemplateSpec>;
}

impl Templated for Deployment {
    fn template(&self) -> Option<&PodTemplateSpec> {
        Some(&self.spec.as_ref()?.template)
    }

    fn template_mut(&mut self) -> Option<&mut PodTemplateSpec> {
        Some(&mut self.spec.as_mut()?.template)
    }
}

impl Templated for StatefulSet {
    fn template(&self) -> Option<&PodTemplateSpec> {
        Some(&self.spec.as_ref()?.template)
    }

    fn template_mut(&mut self) -> Option<&mut PodTemplateSpec> {
        Some(&mut self.spec.as_mut()?.template)
    }
}

impl Templated for Job {
    fn template(&self) -> Option<&PodTemplateSpec> {
        Some(&self.spec.as_ref()?.template)
    }

    fn template_mut(&mut self) -> Option<&mut PodTemplateSpec> {
        Some(&mut self.spec.as_mut()?.template)
    }
}

impl Templated for CronJob {
    fn template(&self) -> Option<&PodTemplateSpec> {
        Some(&self.spec.job_template.spec.as_ref()?.template)
    }

    fn template_mut(&mut self) -> Option<&mut PodTemplateSpec> {
        Some(&mut self.spec.job_template.spec.as_mut()?.template)
    }
}

/// Places an object's template, and returns true if it was changed. A template that the request
/// leaves as it was is left alone: a changed template starts all pods anew.
pub(crate) fn place_object<K: Templated>(
    object: &mut K,
    old: Option<&K>,
    known: &KnownImages,
) -> bool {
    let old = old.and_then(|old| old.template());
    match object.template_mut() {
        Some(template) if old != Some(&*template) => place_template(template, known),
        _ => false,
    }
}

/// Returns true if the template has a term of ours already.
pub(crate) fn is_placed(template: &PodTemplateSpec) -> bool {
    let Some(spec) = template.spec.as_ref() else {
        return false;
    };
    let selected = spec.node_selector.iter().flat_map(|all| all.keys());
    let affinity = spec.affinity.as_ref();
    let preferred = affinity
        .and_then(|affinity| affinity.node_affinity.as_ref())
        .and_then(|nodes| {
            nodes
                .preferred_during_scheduling_ignored_during_execution
                .as_ref()
        })
        .into_iter()
        .flatten()
        .filter_map(|term| term.preference.match_expressions.as_ref())
        .flatten()
        .map(|asked| &asked.key);
    selected.chain(preferred).any(|key| label::is_ours(key))
}

/// Returns the images of a template, as far as their names can be parsed.
pub(crate) fn images(template: &PodTemplateSpec) -> Vec<Reference> {
    let Some(spec) = template.spec.as_ref() else {
        return Vec::new();
    };
    let containers = spec.containers.iter();
    let containers = containers.chain(spec.init_containers.iter().flatten());
    let volumes = spec.volumes.iter().flatten();
    containers
        .filter_map(|container| container.image.as_deref())
        .chain(volumes.filter_map(|volume| volume.image.as_ref()?.reference.as_deref()))
        .filter_map(|image| image.parse().ok())
        .collect()
}
