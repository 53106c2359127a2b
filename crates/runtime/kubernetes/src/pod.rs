//! Builds the pod of a [`PlacementSpec`] on a [`Target`], without a request to any server.
//!
//! The pod is unprivileged and has a user namespace of its own unless the target says otherwise; it
//! gets no service account token of the usual kind and no CPU limit.

mod nearby;
mod powers;
mod privileged;
mod resources;
mod restricted;
pub(crate) mod rules;
mod shim;

use std::net::Ipv6Addr;

use airside_model::StepKind;
use airside_protocol::env;
use airside_runtime::{Condition, Error, Image, PlacementSpec, Shape};
use k8s_openapi::api::core::v1::{
    self as core, Container, EnvVar, LocalObjectReference, Pod, PodSecurityContext, PodSpec,
    ProjectedVolumeSource, SeccompProfile, SecurityContext, ServiceAccountTokenProjection, Volume,
    VolumeMount, VolumeProjection,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use self::{powers::Powers, restricted::StartsAs};
use crate::{
    labels, proof,
    targets::{ClaimProof, PodSecurity, Target, Toleration},
};

/// The one container of ours. Others may be there: a namespace's admission adds what it wants.
pub(crate) const CONTAINER: &str = "step";

/// Brings the shim, where a target has no image volumes.
pub(crate) const SHIM_CONTAINER: &str = "airside-shim";

const SHIM_VOLUME: &str = "shim";
const PROOF_VOLUME: &str = "proof";
/// Names of volumes that are reserved: no rule may add volumes of these names, or mount anything
/// there.
pub(crate) const RESERVED_VOLUMES: &[&str] = &[
    SHIM_VOLUME,
    PROOF_VOLUME,
    powers::ROOT_VOLUME,
    restricted::STATE_VOLUME,
    restricted::BUILD_VOLUME,
];
pub(crate) const RESERVED_MOUNTS: &[&str] = &["/.airside", STATE, powers::ROOT_MOUNT];

const SHIM_MOUNT: &str = "/.airside/bin";
const PROOF_MOUNT: &str = "/.airside/proof";
/// Folder of the shim's state, in the container's own writable layer: a volume for it would only
/// slow the start.
const STATE: &str = "/.airside-state";
/// The kubelet renews the token long before this; a claim uses it once.
const PROOF_SECONDS: i64 = 3600;

/// The pod of a step, or why this target has none for it.
pub fn pod_for(spec: &PlacementSpec, target: &Target) -> Result<Pod, Error> {
    pod_from(spec, target, None)
}

/// Returns the pod of a step whose image, an artifact, is `published` as one that nodes can pull.
pub(crate) fn pod_from(
    spec: &PlacementSpec,
    target: &Target,
    published: Option<&str>,
) -> Result<Pod, Error> {
    privileged::check(spec, target)?;
    check_offered(spec, target)?;
    let powers = Powers::of(spec, target, published.is_some())?;
    let image = PodImage::choose(&spec.image, target, published)?;
    let mut annotations = labels::annotations(&spec.labels);
    annotations.insert(labels::SPEC_HASH.to_owned(), spec.hash());
    annotations.insert(labels::SAFE_TO_EVICT.to_owned(), safe_to_evict(spec));
    let mut inside = pod_spec(spec, target, image, powers);
    if spec.privileged {
        privileged::grant(&mut inside, target.privileged);
    }
    if target.pod_security == PodSecurity::Restricted {
        restricted::restrict(&mut inside, StartsAs::of(spec));
    }
    let mut labels = labels::labels(&spec.installation, &target.name, &spec.labels);
    labels.extend(powers.label());
    let pod = Pod {
        metadata: ObjectMeta {
            name: Some(spec.handle.to_string()),
            namespace: Some(target.namespace.clone()),
            labels: Some(labels),
            annotations: Some(annotations),
            ..ObjectMeta::default()
        },
        spec: Some(inside),
        status: None,
    };
    let pod = rules::apply(pod, spec, &target.pod_rules)?;
    privileged::check_rules(spec, &pod)?;
    Ok(pod)
}

/// Returns true if the cluster autoscaler may remove the pod with its node. Checks are repeated
/// elsewhere. Without a controller above it, a pod that says nothing holds its node as one that
/// says no.
fn safe_to_evict(spec: &PlacementSpec) -> String {
    (spec.labels.kind == StepKind::Check).to_string()
}

fn check_offered(spec: &PlacementSpec, target: &Target) -> Result<(), Error> {
    let condition = Condition {
        not_offered: target.not_offered(),
        ..Condition::default()
    };
    let shapes = Shape::of(&spec.image, spec.privileged, spec.hermetic);
    match condition.cannot(&shapes) {
        Some(words) => Err(refused(format!("worker {} {words}", target.name))),
        None => Ok(()),
    }
}

fn refused(message: String) -> Error {
    Error::refused(message)
}

/// The image that the container starts from, and the way of the shim into it.
struct PodImage {
    reference: String,
    command: &'static str,
    shim_volume: bool,
}

impl PodImage {
    fn choose(image: &Image, target: &Target, published: Option<&str>) -> Result<Self, Error> {
        let reference = match image {
            Image::Shim => {
                return Ok(Self {
                    reference: target.shim_image.clone(),
                    command: shim::IN_ITS_IMAGE,
                    shim_volume: false,
                });
            }
            Image::Host => target.host_image.clone().ok_or_else(|| {
                refused(format!(
                    "the step's image is of type host, and worker {} has none for it: set \
                     host_image in its target",
                    target.name
                ))
            })?,
            Image::Registry { reference, .. } => reference.clone(),
            // If no node can pull it, the shim makes it a root file system by itself, and takes its
            // volume along.
            Image::Volume { .. } => published.unwrap_or(&target.shim_image).to_owned(),
            Image::OciLayout { path } => {
                return Err(refused(format!(
                    "the step's image is the folder {path} of one machine, which pods cannot use: \
                     push it to a registry that worker {} reaches, or run the step on that machine",
                    target.name
                )));
            }
        };
        Ok(Self {
            reference,
            command: shim::BROUGHT,
            shim_volume: true,
        })
    }
}

fn pod_spec(spec: &PlacementSpec, target: &Target, image: PodImage, powers: Powers) -> PodSpec {
    let (mut volumes, mut mounts) = (Vec::new(), Vec::new());
    let mut init = None;
    if image.shim_volume {
        let (volume, copier) = shim::bring(target);
        volumes.push(volume);
        mounts.push(mount(SHIM_VOLUME, SHIM_MOUNT));
        init = copier.map(|container| vec![container]);
    }
    if target.claim_proof == ClaimProof::Projected {
        volumes.push(proof_volume(spec));
        mounts.push(mount(PROOF_VOLUME, PROOF_MOUNT));
    }
    if let Some((volume, place)) = powers.volume() {
        volumes.push(volume);
        mounts.push(place);
    }
    let mut security_context = SecurityContext {
        run_as_user: Some(0),
        ..SecurityContext::default()
    };
    powers.grant(&mut security_context);
    let affinity = if target.prefer_image_nodes {
        nearby::affinity(&image.reference)
    } else {
        None
    };
    let container = Container {
        name: CONTAINER.to_owned(),
        image_pull_policy: Some(pull_policy(spec, &image.reference, target).to_owned()),
        image: Some(image.reference),
        command: Some(vec![image.command.to_owned()]),
        env: Some(environment(spec, target, powers)),
        resources: Some(resources::requirements(
            &spec.limits,
            &resources::defaults(spec, &target.default_requests),
        )),
        security_context: Some(security_context),
        volume_mounts: Some(mounts).filter(|mounts| !mounts.is_empty()),
        ..Container::default()
    };
    PodSpec {
        affinity,
        containers: vec![container],
        init_containers: init,
        volumes: Some(volumes).filter(|volumes| !volumes.is_empty()),
        restart_policy: Some("Never".to_owned()),
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        host_users: (!target.host_users).then_some(false),
        security_context: Some(PodSecurityContext {
            seccomp_profile: Some(SeccompProfile {
                type_: "RuntimeDefault".to_owned(),
                ..SeccompProfile::default()
            }),
            ..PodSecurityContext::default()
        }),
        termination_grace_period_seconds: i64::try_from(target.grace_period.as_secs()).ok(),
        node_selector: Some(target.node_selector.clone()).filter(|labels| !labels.is_empty()),
        tolerations: Some(
            target
                .tolerations
                .iter()
                .map(toleration)
                .collect::<Vec<_>>(),
        )
        .filter(|tolerations| !tolerations.is_empty()),
        image_pull_secrets: pull_secrets(target),
        ..PodSpec::default()
    }
}

/// Returns when the node's runtime asks the registry. An image that is on a node already was pulled
/// by some team's pod. Of those in our registry, and of those that no team is known to own, each
/// pod must show that its own team may have it. An image that is there is not fetched again: for a
/// digest the node's runtime only asks the registry.
fn pull_policy(spec: &PlacementSpec, reference: &str, target: &Target) -> &'static str {
    let ask_registry = matches!(
        spec.image,
        Image::Registry {
            ask_registry: true,
            ..
        }
    );
    if ask_registry || target.is_own(reference) {
        "Always"
    } else {
        "IfNotPresent"
    }
}

fn pull_secrets(target: &Target) -> Option<Vec<LocalObjectReference>> {
    let named = target
        .pull_secrets
        .iter()
        .map(|name| LocalObjectReference { name: name.clone() });
    Some(named.collect::<Vec<_>>()).filter(|secrets| !secrets.is_empty())
}

fn environment(spec: &PlacementSpec, target: &Target, powers: Powers) -> Vec<EnvVar> {
    let mut variables = vec![
        (env::HUB, hub_address(&target.hub_host, spec.claim.hub_port)),
        (env::HUB_PIN, spec.claim.hub_pin.clone()),
        (env::HANDLE, spec.handle.to_string()),
        (env::TOKEN, spec.claim.token.clone()),
        (env::STATE, STATE.to_owned()),
    ];
    if target.claim_proof == ClaimProof::Projected {
        variables.push((env::PROOF_FILE, format!("{PROOF_MOUNT}/token")));
    }
    // Where the shim may not switch users, the container starts as the image's.
    let switches = target.pod_security != PodSecurity::Restricted;
    if let Some(user) = spec.image.user().filter(|_| switches) {
        variables.push((env::IMAGE_USER, user.to_owned()));
    }
    variables.extend(powers.environment());
    variables
        .into_iter()
        .map(|(name, value)| EnvVar {
            name: name.to_owned(),
            // The kubelet expands $(NAME); a doubled dollar is a plain one.
            value: Some(value.replace('$', "$$")),
            ..EnvVar::default()
        })
        .collect()
}

fn hub_address(host: &str, port: u16) -> String {
    match host.parse::<Ipv6Addr>() {
        Ok(address) => format!("[{address}]:{port}"),
        Err(_) => format!("{host}:{port}"),
    }
}

fn proof_volume(spec: &PlacementSpec) -> Volume {
    let token = ServiceAccountTokenProjection {
        audience: Some(proof::audience(&spec.installation)),
        expiration_seconds: Some(PROOF_SECONDS),
        path: "token".to_owned(),
    };
    Volume {
        name: PROOF_VOLUME.to_owned(),
        projected: Some(ProjectedVolumeSource {
            sources: Some(vec![VolumeProjection {
                service_account_token: Some(token),
                ..VolumeProjection::default()
            }]),
            ..ProjectedVolumeSource::default()
        }),
        ..Volume::default()
    }
}

fn mount(name: &str, path: &str) -> VolumeMount {
    VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        read_only: Some(true),
        ..VolumeMount::default()
    }
}

pub(crate) fn toleration(toleration: &Toleration) -> core::Toleration {
    core::Toleration {
        key: toleration.key.clone(),
        operator: toleration.operator.clone(),
        value: toleration.value.clone(),
        effect: toleration.effect.clone(),
        toleration_seconds: toleration.toleration_seconds,
    }
}

#[cfg(test)]
pub(crate) mod tests;
