//! The way of the shim into a container whose image is not its own: as an image volume, or copied
//! by an init container where a cluster has no image volumes. The latter costs a third of a second
//! more per step.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::{
        Container, EmptyDirVolumeSource, ImageVolumeSource, ResourceRequirements, SecurityContext,
        Volume,
    },
    apimachinery::pkg::api::resource::Quantity,
};

use super::{SHIM_CONTAINER, SHIM_MOUNT, SHIM_VOLUME, mount};
use crate::targets::{ShimDelivery, Target};

/// The program in the shim's image, and what it is called where it is brought.
pub(super) const IN_ITS_IMAGE: &str = "/airside-shim";
pub(super) const BROUGHT: &str = "/.airside/bin/airside-shim";

/// The volume that holds the shim, and who fills it.
pub(super) fn bring(target: &Target) -> (Volume, Option<Container>) {
    let mut volume = Volume {
        name: SHIM_VOLUME.to_owned(),
        ..Volume::default()
    };
    match target.shim {
        ShimDelivery::ImageVolume => {
            volume.image = Some(ImageVolumeSource {
                reference: Some(target.shim_image.clone()),
                pull_policy: Some("IfNotPresent".to_owned()),
            });
            (volume, None)
        }
        ShimDelivery::InitContainer => {
            volume.empty_dir = Some(EmptyDirVolumeSource::default());
            (volume, Some(copier(target)))
        }
    }
}

fn copier(target: &Target) -> Container {
    let mut place = mount(SHIM_VOLUME, SHIM_MOUNT);
    place.read_only = None;
    // Less than any step asks for, so that the pod as a whole asks for no more because of it.
    let requests = [("cpu", "1m"), ("memory", "16Mi")]
        .map(|(name, amount)| (name.to_owned(), Quantity(amount.to_owned())));
    Container {
        name: SHIM_CONTAINER.to_owned(),
        image: Some(target.shim_image.clone()),
        image_pull_policy: Some("IfNotPresent".to_owned()),
        command: Some(vec![IN_ITS_IMAGE.to_owned()]),
        args: Some(vec!["install".to_owned(), BROUGHT.to_owned()]),
        resources: Some(ResourceRequirements {
            requests: Some(BTreeMap::from(requests)),
            ..ResourceRequirements::default()
        }),
        security_context: Some(SecurityContext {
            run_as_user: Some(0),
            ..SecurityContext::default()
        }),
        volume_mounts: Some(vec![place]),
        ..Container::default()
    }
}
