//! Capabilities that some steps' shims need beyond those of any container: to keep the process off
//! the network, or to put its root file system together.
//!
//! The capabilities are those of the pod's own user namespace, where they mean nothing outside; a
//! pod without one never gets them. The shim takes them, and the system calls that come with them,
//! from everything it starts.

use airside_confine::Capabilities;
use airside_protocol::env;
use airside_runtime::{Error, Image, PlacementSpec};
use k8s_openapi::api::core::v1::{
    AppArmorProfile, Capabilities as Added, EmptyDirVolumeSource, SecurityContext, Volume,
    VolumeMount,
};

use super::refused;
use crate::{labels, network_policy, targets::Target};

pub(super) const ROOT_VOLUME: &str = "root";
pub(super) const ROOT_MOUNT: &str = "/.airside-root";

/// The capabilities that a step needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Powers {
    /// The process gets a network that leads nowhere; the shim stays on the pod's.
    hermetic: bool,
    /// A policy keeps the whole pod off the network instead, but for the hub.
    held: bool,
    /// The image is an artifact, which no node can pull: the shim makes it the root file system.
    assembled: bool,
    /// The image is an artifact, and the container is started in it.
    published: bool,
    /// The process may do what the shim may.
    privileged: bool,
}

impl Powers {
    pub(super) fn of(
        spec: &PlacementSpec,
        target: &Target,
        published: bool,
    ) -> Result<Self, Error> {
        let artifact = matches!(spec.image, Image::Volume { .. });
        let powers = Self {
            hermetic: spec.hermetic && !target.host_users,
            held: network_policy::holds(spec, target),
            assembled: artifact && !published,
            published: artifact && published,
            privileged: spec.privileged,
        };
        if target.host_users && powers.assembled {
            return Err(refused(format!(
                "the step's image is an artifact of the build, which takes a user namespace, and worker {} has none \
                 (its target says host_users: true): leave host_users out where the cluster has user namespaces, or \
                 run the step on another worker by tags",
                target.name
            )));
        }
        Ok(powers)
    }

    fn any(self) -> bool {
        self.hermetic || self.assembled
    }

    /// Returns the label by which pods are found whose network is held.
    pub(super) fn label(self) -> Option<(String, String)> {
        let label = || (labels::NETWORK.to_owned(), labels::HELD.to_owned());
        self.held.then(label)
    }

    /// The rights of the shim.
    pub(super) fn grant(self, context: &mut SecurityContext) {
        let mut added = Vec::new();
        if self.any() {
            added.push("SYS_ADMIN".to_owned());
        }
        if self.hermetic {
            added.push("NET_ADMIN".to_owned());
        }
        if !added.is_empty() {
            let capabilities = context.capabilities.get_or_insert_with(Added::default);
            capabilities.add.get_or_insert_default().extend(added);
        }
        if self.assembled {
            // The usual profile forbids every mount, in a user namespace too.
            context.app_armor_profile = Some(AppArmorProfile {
                type_: "Unconfined".to_owned(),
                localhost_profile: None,
            });
        }
    }

    /// Returns the variables that pass them to the shim.
    pub(super) fn environment(self) -> Vec<(&'static str, String)> {
        let mut variables = Vec::new();
        if self.assembled {
            variables.push((env::ROOT, ROOT_MOUNT.to_owned()));
        }
        if self.held {
            variables.push((env::NETWORK, "held".to_owned()));
        }
        if self.published {
            variables.push((env::ROOT, "/".to_owned()));
        }
        if self.any() && !self.privileged {
            let kept = Capabilities::UNPRIVILEGED.to_string();
            variables.push((env::TASK_CAPABILITIES, kept));
            variables.push((env::TASK_SECCOMP, "default".to_owned()));
        }
        variables
    }

    /// Returns the volume in which the root file system is put together: on the node's own disk, as
    /// a file system that others can be mounted upon.
    pub(super) fn volume(self) -> Option<(Volume, VolumeMount)> {
        self.assembled.then(|| {
            let volume = Volume {
                name: ROOT_VOLUME.to_owned(),
                empty_dir: Some(EmptyDirVolumeSource::default()),
                ..Volume::default()
            };
            let mount = VolumeMount {
                name: ROOT_VOLUME.to_owned(),
                mount_path: ROOT_MOUNT.to_owned(),
                ..VolumeMount::default()
            };
            (volume, mount)
        })
    }
}
