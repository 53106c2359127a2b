//! Pods prefer nodes that have their image, where an agent labels nodes with their images (`airside
//! images`). Without such an agent no node has the label and none is preferred.

use airside_image_rules::label::{self, Presence};
use airside_oci::Reference;
use k8s_openapi::api::core::v1::{
    Affinity, NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm, PreferredSchedulingTerm,
};

/// Half of what a preference may weigh: what a pod rule wants more goes first.
const WEIGHT: i32 = 50;

/// Returns the affinity to nodes that have the image. Only content is labelled, so a name without a
/// digest has none.
pub(super) fn affinity(image: &str) -> Option<Affinity> {
    let image: Reference = image.parse().ok()?;
    image.digest()?;
    let wanted = NodeSelectorRequirement {
        key: label::key(&image),
        operator: "In".to_owned(),
        values: Some(vec![Presence::Present.value().to_owned()]),
    };
    let term = PreferredSchedulingTerm {
        weight: WEIGHT,
        preference: NodeSelectorTerm {
            match_expressions: Some(vec![wanted]),
            ..NodeSelectorTerm::default()
        },
    };
    Some(Affinity {
        node_affinity: Some(NodeAffinity {
            preferred_during_scheduling_ignored_during_execution: Some(vec![term]),
            ..NodeAffinity::default()
        }),
        ..Affinity::default()
    })
}
