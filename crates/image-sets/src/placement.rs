//! Where a pod goes: what admission changes in one that uses images of sets.
//!
//! Doing it twice is doing it once. A pod that somebody else has placed, or that belongs to a node, is left alone.

use std::collections::BTreeMap;

use airside_model::image::Digest;
use k8s_openapi::api::core::v1::{
    Affinity, NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm, Pod, PodSchedulingGate,
    PodSpec, PreferredSchedulingTerm,
};

use crate::{Placement, PlacementMode, Reference, label::Presence};

/// Pods of mode gate wait behind this one.
pub const GATE: &str = "images.airside.dev/on-nodes";
const HEAVIEST: u64 = 100;

/// An image that a set keeps on nodes, as admission knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownImage {
    /// The label of nodes that have it.
    pub label: String,
    pub digest: Digest,
    pub size: u64,
    /// On how many nodes it is.
    pub nodes: u32,
    pub placement: Placement,
}

/// All that sets keep on nodes, by the name that pods use.
pub type Known = BTreeMap<Reference, KnownImage>;

/// Changes the pod; whether there was anything to change.
pub fn place(pod: &mut Pod, known: &Known) -> bool {
    if is_left_alone(pod) {
        return false;
    }
    let before = pod.clone();
    let Some(spec) = pod.spec.as_mut() else {
        return false;
    };
    let mut used: BTreeMap<Reference, KnownImage> = BTreeMap::new();
    for image in images(spec) {
        let Ok(name) = image.image.parse::<Reference>() else {
            continue;
        };
        if let Some(found) = known
            .get(&name)
            .filter(|found| found.placement.mode != PlacementMode::None)
        {
            *image.policy = Some("IfNotPresent".to_owned());
            if found.placement.pin_digest && name.digest().is_none() {
                *image.image = format!("{}@{}", image.image, found.digest);
            }
            used.insert(name, found.clone());
        }
    }
    let total = used.values().map(|image| image.size).sum::<u64>().max(1);
    for image in used.values() {
        match image.placement.mode {
            PlacementMode::Require => require(spec, image),
            PlacementMode::Prefer => prefer(spec, image, total),
            PlacementMode::Gate => {
                prefer(spec, image, total);
                if image.nodes < image.placement.gate_nodes {
                    gate(spec);
                }
            }
            PlacementMode::None => {}
        }
    }
    *pod != before
}

/// Whether its place is not ours to choose: it has one, or belongs to a node (DaemonSet, static pod).
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

struct Used<'a> {
    image: &'a mut String,
    policy: &'a mut Option<String>,
}

/// Every image of the pod: of containers of all kinds and of volumes.
fn images(spec: &mut PodSpec) -> Vec<Used<'_>> {
    let of_containers = spec
        .containers
        .iter_mut()
        .chain(spec.init_containers.iter_mut().flatten())
        .filter_map(|container| {
            Some(Used {
                image: container.image.as_mut()?,
                policy: &mut container.image_pull_policy,
            })
        });
    let of_ephemeral = spec
        .ephemeral_containers
        .iter_mut()
        .flatten()
        .filter_map(|container| {
            Some(Used {
                image: container.image.as_mut()?,
                policy: &mut container.image_pull_policy,
            })
        });
    let of_volumes = spec.volumes.iter_mut().flatten().filter_map(|volume| {
        let source = volume.image.as_mut()?;
        Some(Used {
            image: source.reference.as_mut()?,
            policy: &mut source.pull_policy,
        })
    });
    of_containers
        .chain(of_ephemeral)
        .chain(of_volumes)
        .collect()
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

fn gate(spec: &mut PodSpec) {
    let gates = spec.scheduling_gates.get_or_insert_default();
    if gates.iter().all(|gate| gate.name != GATE) {
        gates.push(PodSchedulingGate {
            name: GATE.to_owned(),
        });
    }
}

#[cfg(test)]
mod tests;
