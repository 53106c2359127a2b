//! Pods that wait for their images, and for how long.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Pod, PodSchedulingGate};

use super::{KnownImages, images::images};
use airside_oci::Reference;

use crate::PlacementMode;

/// Pods of mode gate wait behind this one.
pub const GATE: &str = "images.airside.dev/on-nodes";
/// Label of pods that wait behind the gate, so that admission need not watch every pod.
pub const GATED: &str = "images.airside.dev/gated";

/// State of a pod that waits for its images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// The pod waits, at the latest until this time.
    Closed { until: Timestamp },
    /// The pod may be scheduled.
    Open(Opened),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// Enough nodes have the images.
    Present,
    /// Too few nodes have the images, and the pod has waited for as long as it should.
    Late,
    /// No set lets it wait any more.
    Unwanted,
}

/// Puts the pod behind the gate.
pub(super) fn gate(pod: &mut Pod) {
    let Some(spec) = pod.spec.as_mut() else {
        return;
    };
    let gates = spec.scheduling_gates.get_or_insert_default();
    if gates.iter().all(|gate| gate.name != GATE) {
        gates.push(PodSchedulingGate {
            name: GATE.to_owned(),
        });
    }
    let labels = pod.metadata.labels.get_or_insert_default();
    labels.insert(GATED.to_owned(), "true".to_owned());
}

/// Decides if the pod goes on waiting. The function is pure, so that a restart of admission changes
/// nothing.
pub fn gate_of(pod: &Pod, known: &KnownImages, now: Timestamp) -> Gate {
    let created = pod.metadata.creation_timestamp.as_ref();
    let created = created.map_or(now, |time| time.0);
    let mut spec = pod.spec.clone().unwrap_or_default();
    let mut opened = Opened::Unwanted;
    let mut until = None;
    for image in images(&mut spec) {
        let name = image.image.parse::<Reference>().ok();
        let Some(found) = name.and_then(|name| known.get(&name)) else {
            continue;
        };
        let placement = &found.placement;
        if placement.mode != PlacementMode::Gate {
            continue;
        }
        let patience = SignedDuration::from_secs(i64::from(placement.gate_seconds));
        let deadline = created.saturating_add(patience).unwrap_or(Timestamp::MAX);
        match (found.nodes >= placement.gate_nodes, deadline <= now) {
            (true, _) if opened == Opened::Unwanted => opened = Opened::Present,
            (true, _) => {}
            (false, true) => opened = Opened::Late,
            (false, false) => until = until.max(Some(deadline)),
        }
    }
    match until {
        Some(until) => Gate::Closed { until },
        None => Gate::Open(opened),
    }
}
