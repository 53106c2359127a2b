//! Privileged steps: refused, privileged inside a user namespace of their own, or on the node
//! itself, as the target says.

use airside_runtime::{Error, PlacementSpec};
use k8s_openapi::api::core::v1::{Pod, PodSpec, SecurityContext};

use super::{CONTAINER, refused};
use crate::targets::{Privileged, Target};

/// Checks that this target has such pods at all.
pub(super) fn check(spec: &PlacementSpec, target: &Target) -> Result<(), Error> {
    if spec.privileged && target.privileged == Privileged::Deny {
        return Err(refused(format!(
            "the step asks for privileged, which worker {} denies: its target says privileged: deny, \
             and may say userns (privileged in a user namespace) or host (as root of the node)",
            target.name
        )));
    }
    Ok(())
}

/// Checks that no rule takes rights from a privileged step: such steps are refused, as Kubernetes
/// would.
pub(super) fn check_rules(spec: &PlacementSpec, pod: &Pod) -> Result<(), Error> {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let mut steps = containers.filter(|it| it.name == CONTAINER);
    let lowered = steps.any(|it| {
        let context = it.security_context.as_ref();
        context.is_some_and(|it| it.allow_privilege_escalation == Some(false))
    });
    if spec.privileged && lowered {
        Err(refused(
            "the step asks for privileged, and a pod rule of its target says allowPrivilegeEscalation: false for it"
                .to_owned(),
        ))
    } else {
        Ok(())
    }
}

/// Gives the step's container what the target has for it.
pub(super) fn grant(pod: &mut PodSpec, allowed: Privileged) {
    if allowed == Privileged::Host {
        // Absent means the node's own ids.
        pod.host_users = None;
    }
    for container in &mut pod.containers {
        if container.name == CONTAINER {
            let context = container
                .security_context
                .get_or_insert_with(SecurityContext::default);
            context.privileged = Some(true);
        }
    }
}
