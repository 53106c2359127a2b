//! Every place of a pod that names an image.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{EphemeralContainer, PodSpec};

use super::{KnownImage, KnownImages};
use airside_oci::Reference;

use crate::PlacementMode;

/// Images of sets that a pod uses, by the pod's names of them.
pub(super) type InUse = BTreeMap<Reference, KnownImage>;

pub(super) struct Used<'a> {
    pub(super) image: &'a mut String,
    pub(super) policy: &'a mut Option<String>,
}

impl Used<'_> {
    /// Makes it use what is on nodes; says what that is, if a set has it.
    pub(super) fn taken_from_nodes(self, known: &KnownImages) -> Option<(Reference, KnownImage)> {
        let name = self.image.parse::<Reference>().ok()?;
        let found = known
            .get(&name)
            .filter(|found| found.placement.mode != PlacementMode::None)?;
        *self.policy = Some("IfNotPresent".to_owned());
        if found.placement.pin_digest && name.digest().is_none() {
            *self.image = format!("{}@{}", self.image, found.digest);
        }
        Some((name, found.clone()))
    }
}

/// Returns the images of all kinds of containers and of volumes.
pub(super) fn images(spec: &mut PodSpec) -> Vec<Used<'_>> {
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
    let of_ephemeral = spec.ephemeral_containers.iter_mut().flatten();
    let of_volumes = spec.volumes.iter_mut().flatten().filter_map(|volume| {
        let source = volume.image.as_mut()?;
        Some(Used {
            image: source.reference.as_mut()?,
            policy: &mut source.pull_policy,
        })
    });
    of_containers
        .chain(of_ephemeral.filter_map(of_ephemeral_container))
        .chain(of_volumes)
        .collect()
}

pub(super) fn of_ephemeral_container(container: &mut EphemeralContainer) -> Option<Used<'_>> {
    Some(Used {
        image: container.image.as_mut()?,
        policy: &mut container.image_pull_policy,
    })
}
