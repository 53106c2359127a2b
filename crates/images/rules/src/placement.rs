//! Placement of pods: the changes that admission makes to a pod that uses images of sets.
//!
//! The changes are idempotent. A pod that is placed already, or that belongs to a node, is left
//! alone.

mod gate;
mod images;
mod template;

use std::collections::BTreeMap;

use airside_oci::{Digest, Reference};
use k8s_openapi::api::core::v1::{
    Affinity, NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm, Pod, PodSpec,
    PreferredSchedulingTerm,
};

use self::{
    gate::gate,
    images::{InUse, images, of_ephemeral_container},
};
pub use self::{
    gate::{GATE, GATED, Gate, Opened, gate_of},
    template::place_template,
};
use crate::{Placement, PlacementMode, label::Presence};

const HEAVIEST: u64 = 100;

/// An image that a set keeps on nodes, as admission knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownImage {
    /// The label of nodes that have it.
    pub label: String,
    pub digest: Digest,
    pub size: u64,
    /// Number of nodes that have the image.
    pub nodes: u32,
    pub placement: Placement,
}

/// All that sets keep on nodes, by the name that pods use.
pub type KnownImages = BTreeMap<Reference, KnownImage>;

/// Changes the pod; whether there was anything to change.
pub fn place(pod: &mut Pod, known: &KnownImages) -> bool {
    if is_left_alone(pod) {
        return false;
    }
    let before = pod.clone();
    let Some(spec) = pod.spec.as_mut() else {
        return false;
    };
    let used = in_use(spec, known);
    let total = total(&used);
    let mut waits = false;
    for image in used.values() {
        match image.placement.mode {
            PlacementMode::Require => require(spec, image),
            PlacementMode::Prefer => prefer(spec, image, total),
            PlacementMode::Gate => {
                prefer(spec, image, total);
                waits |= image.nodes < image.placement.gate_nodes;
            }
            PlacementMode::None => {}
        }
    }
    if waits {
        gate(pod);
    }
    *pod != before
}

/// Changes containers that are added to a running pod, which has its node already. Containers that
/// it had before are left alone.
pub fn place_ephemeral(pod: &mut Pod, before: Option<&Pod>, known: &KnownImages) -> bool {
    let old: Vec<String> = before
        .and_then(|pod| pod.spec.as_ref()?.ephemeral_containers.as_ref())
        .into_iter()
        .flatten()
        .map(|container| container.name.clone())
        .collect();
    let added = pod
        .spec
        .as_mut()
        .and_then(|spec| spec.ephemeral_containers.as_mut())
        .into_iter()
        .flatten()
        .filter(|container| !old.contains(&container.name));
    let mut is_changed = false;
    for container in added {
        let was = container.clone();
        if let Some(used) = of_ephemeral_container(container) {
            used.taken_from_nodes(known);
        }
        is_changed |= *container != was;
    }
    is_changed
}

fn in_use(spec: &mut PodSpec, known: &KnownImages) -> InUse {
    let used = images(spec).into_iter();
    used.filter_map(|image| image.taken_from_nodes(known))
        .collect()
}

fn total(used: &InUse) -> u64 {
    used.values().map(|image| image.size).sum::<u64>().max(1)
}

/// Returns true if the pod is not ours to place: it has a node, or belongs to one (DaemonSet,
/// static pod).
fn is_left_alone(pod: &Pod) -> bool {
    let owners = pod.metadata.owner_references.as_deref().unwrap_or_default();
    let annotations = pod.metadata.annotations.as_ref();
    let has_node = pod
        .spec
        .as_ref()
        .is_some_and(|spec| spec.node_name.is_some());
    has_node
        || owners
            .iter()
            .any(|owner| matches!(owner.kind.as_str(), "DaemonSet" | "Node"))
        || annotations.is_some_and(|all| all.contains_key("kubernetes.io/config.mirror"))
}

fn require(spec: &mut PodSpec, image: &KnownImage) {
    let selector = spec.node_selector.get_or_insert_default();
    selector.insert(image.label.clone(), Presence::Present.value().to_owned());
}

/// The larger an image is beside the others, the more it counts.
fn prefer(spec: &mut PodSpec, image: &KnownImage, total: u64) {
    let affinity: &mut Affinity = spec.affinity.get_or_insert_default();
    let nodes: &mut NodeAffinity = affinity.node_affinity.get_or_insert_default();
    let terms = nodes
        .preferred_during_scheduling_ignored_during_execution
        .get_or_insert_default();
    let has_it = |term: &PreferredSchedulingTerm| {
        let wanted = term
            .preference
            .match_expressions
            .as_deref()
            .unwrap_or_default();
        wanted.iter().any(|wanted| wanted.key == image.label)
    };
    if terms.iter().any(has_it) {
        return;
    }
    let weight = u128::from(image.size) * u128::from(HEAVIEST) / u128::from(total);
    terms.push(PreferredSchedulingTerm {
        weight: i32::try_from(weight).unwrap_or(i32::MAX).clamp(1, 100),
        preference: NodeSelectorTerm {
            match_expressions: Some(vec![NodeSelectorRequirement {
                key: image.label.clone(),
                operator: "In".to_owned(),
                values: Some(vec![Presence::Present.value().to_owned()]),
            }]),
            ..NodeSelectorTerm::default()
        },
    });
}

#[cfg(test)]
mod tests;
