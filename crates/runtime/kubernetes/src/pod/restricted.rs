//! Pods for a namespace that enforces the Pod Security level *restricted*: no capability, and no
//! program that gains rights.
//!
//! In a user namespace of its own a pod may still be root there, which the level allows. But root
//! without capabilities cannot become another user, so a step with another user starts as that
//! user, and its shim with it. A step that runs as its image's user starts as the node's runtime
//! finds it in the image. Such a shim may not write to the image's root: it gets volumes for its
//! own files.

use k8s_openapi::api::core::v1::{
    Capabilities, Container, EmptyDirVolumeSource, PodSpec, SecurityContext, Volume, VolumeMount,
};

use airside_runtime::PlacementSpec;

use super::{CONTAINER, STATE};

/// The folder that holds the folders of steps.
const BUILD: &str = "/tmp/build";
pub(super) const STATE_VOLUME: &str = "airside-state";
pub(super) const BUILD_VOLUME: &str = "airside-build";
/// The number that this user has nearly everywhere. Where an image has another one, the shim says
/// so.
const NOBODY: i64 = 65534;

/// The user that the step's container starts as, and its shim with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StartsAs {
    /// The user that the image names.
    Image,
    Ids {
        uid: i64,
        gid: Option<i64>,
    },
}

impl StartsAs {
    pub(super) fn of(spec: &PlacementSpec) -> Self {
        let own = spec.user.as_deref().filter(|user| !user.is_empty());
        match (own, spec.image.user()) {
            (None, Some(user)) if !is_root(user) => Self::Image,
            (own, _) => {
                let (uid, gid) = ids(own);
                Self::Ids { uid, gid }
            }
        }
    }

    /// The `runAsUser` and `runAsGroup` of the container.
    fn ids(self) -> (Option<i64>, Option<i64>) {
        match self {
            Self::Image => (None, None),
            Self::Ids { uid, gid } => (Some(uid), gid),
        }
    }
}

fn is_root(user: &str) -> bool {
    let name = user.split(':').next().unwrap_or_default();
    name == "root" || name.parse() == Ok(0)
}

/// Takes everything from the pod's containers that the level forbids.
pub(super) fn restrict(pod: &mut PodSpec, starts_as: StartsAs) {
    let (uid, gid) = starts_as.ids();
    for container in pod.init_containers.iter_mut().flatten() {
        lower(container);
    }
    for container in &mut pod.containers {
        lower(container);
        if container.name != CONTAINER {
            continue;
        }
        let context = container.security_context.get_or_insert_default();
        (context.run_as_user, context.run_as_group) = (uid, gid);
        if uid != Some(0) {
            let mounts = container.volume_mounts.get_or_insert_default();
            mounts.push(place(STATE_VOLUME, STATE));
            mounts.push(place(BUILD_VOLUME, BUILD));
        }
    }
    if uid != Some(0) {
        let volumes = pod.volumes.get_or_insert_default();
        volumes.extend([STATE_VOLUME, BUILD_VOLUME].map(empty));
    }
}

fn lower(container: &mut Container) {
    let context = container
        .security_context
        .get_or_insert_with(SecurityContext::default);
    context.allow_privilege_escalation = Some(false);
    context.capabilities = Some(Capabilities {
        add: None,
        drop: Some(vec!["ALL".to_owned()]),
    });
}

/// Returns the numbers of a user that is written as `user[:group]`. A user that only the image can
/// translate stays root: its shim reports which number to write.
fn ids(user: Option<&str>) -> (i64, Option<i64>) {
    let user = user.unwrap_or_default();
    let (name, group) = match user.split_once(':') {
        Some((name, group)) => (name, Some(group)),
        None => (user, None),
    };
    let number = |text: &str| text.parse::<u32>().ok().map(i64::from);
    let uid = match name {
        "nobody" => Some(NOBODY),
        name => number(name),
    };
    match (uid, group.map(number)) {
        (Some(uid), None) => (uid, None),
        (Some(uid), Some(Some(gid))) => (uid, Some(gid)),
        _ => (0, None),
    }
}

fn place(name: &str, path: &str) -> VolumeMount {
    VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        ..VolumeMount::default()
    }
}

fn empty(name: &str) -> Volume {
    Volume {
        name: name.to_owned(),
        empty_dir: Some(EmptyDirVolumeSource::default()),
        ..Volume::default()
    }
}

#[cfg(test)]
mod tests {
    use airside_runtime::{Image, PullSource};

    use super::*;
    use crate::pod::{
        pod_for,
        tests::{spec, target},
    };

    fn restricted(user: Option<&str>, more: &str) -> PodSpec {
        let mut step = spec();
        step.user = user.map(str::to_owned);
        let target = target(&format!("pod_security: restricted\n  {more}"));
        pod_for(&step, &target).unwrap().spec.unwrap()
    }

    #[test]
    fn every_container_is_as_the_level_wants_it() {
        let pod = restricted(None, "shim: init_container");
        assert_eq!(pod.host_users, Some(false));
        let containers = pod
            .containers
            .iter()
            .chain(pod.init_containers.iter().flatten());
        assert_eq!(containers.clone().count(), 2);
        for container in containers {
            let context = container.security_context.as_ref().unwrap();
            assert_eq!(context.allow_privilege_escalation, Some(false));
            let capabilities = context.capabilities.as_ref().unwrap();
            assert_eq!(capabilities.add, None);
            assert_eq!(capabilities.drop, Some(vec!["ALL".to_owned()]));
            assert_eq!(context.run_as_user, Some(0));
        }
    }

    #[test]
    fn a_step_without_a_user_starts_as_the_images() {
        for (own, image, expected) in [
            (None, Some("app"), None),
            (None, Some("1000:1000"), None),
            (None, Some("root"), Some(0)),
            (None, Some("0:0"), Some(0)),
            (None, None, Some(0)),
            (Some("7"), Some("app"), Some(7)),
        ] {
            let mut step = spec();
            step.user = own.map(str::to_owned);
            step.image = Image::Registry {
                reference: "registry.example/name@sha256:00".to_owned(),
                source: PullSource::default(),
                ask_registry: false,
                user: image.map(str::to_owned),
            };
            let pod = pod_for(&step, &target("pod_security: restricted")).unwrap();
            let step = &pod.spec.unwrap().containers[0];
            let context = step.security_context.as_ref().unwrap();
            assert_eq!(context.run_as_user, expected, "{own:?} {image:?}");
            let mounts = step.volume_mounts.as_ref().unwrap();
            let own_state = mounts.iter().any(|mount| mount.mount_path == STATE);
            assert_eq!(own_state, expected != Some(0), "{own:?} {image:?}");
        }
    }

    #[test]
    fn a_step_with_a_user_starts_as_that_user() {
        for (user, expected) in [
            ("1000", (1000, None)),
            ("1000:7", (1000, Some(7))),
            ("nobody", (65534, None)),
            ("root", (0, None)),
            ("ann", (0, None)),
            ("1000:wheel", (0, None)),
        ] {
            let pod = restricted(Some(user), "");
            let step = &pod.containers[0];
            let context = step.security_context.as_ref().unwrap();
            let ids = (context.run_as_user.unwrap(), context.run_as_group);
            assert_eq!(ids, expected, "{user}");
            let mounts = step.volume_mounts.as_ref().unwrap();
            let own = mounts.iter().any(|mount| mount.mount_path == STATE);
            assert_eq!(own, ids.0 != 0, "{user}");
        }
        // Elsewhere the shim switches by itself.
        let mut step = spec();
        step.user = Some("1000".to_owned());
        let pod = pod_for(&step, &target("")).unwrap().spec.unwrap();
        let context = pod.containers[0].security_context.as_ref().unwrap();
        assert_eq!(context.run_as_user, Some(0));
    }
}
