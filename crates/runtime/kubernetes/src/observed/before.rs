//! Containers that must have run, or must run, before the step's own can: ours that brings the
//! shim, and whatever pod rules and the namespace's admission have added.

use airside_runtime::{Cause, Observed};
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodStatus};

use super::waiting;

/// Returns the end of a pod whose init container failed and had to succeed: it would fail on any
/// node.
pub(super) fn failed(pod: &Pod, status: &PodStatus) -> Option<Observed> {
    let ended = |init: &ContainerStatus| init.state.as_ref()?.terminated.clone();
    for init in status.init_container_statuses.iter().flatten() {
        let Some(ended) = ended(init) else { continue };
        if ended.exit_code == 0 || stays(pod, &init.name) || status.reason.is_some() {
            continue;
        }
        let message = ended.message.as_deref().unwrap_or_default().trim();
        let why = match ended.reason.as_deref() {
            None | Some("" | "Error") => format!("exited with code {}", ended.exit_code),
            Some(reason) => format!("exited with code {} ({reason})", ended.exit_code),
        };
        let colon = if message.is_empty() { "" } else { ": " };
        return Some(Observed::Doomed {
            reason: format!(
                "container {}, which runs before the step, {why}{colon}{message}",
                init.name
            ),
            cause: Cause::Other,
        });
    }
    None
}

/// Returns true for a sidecar, which the kubelet starts again by itself.
fn stays(pod: &Pod, name: &str) -> bool {
    let spec = pod.spec.as_ref();
    let mut containers = spec
        .and_then(|spec| spec.init_containers.as_ref())
        .into_iter()
        .flatten();
    containers.any(|init| init.name == name && init.restart_policy.as_deref() == Some("Always"))
}

/// One that does not get on, and so keeps the step from starting.
pub(super) fn blocked(status: &PodStatus) -> Option<Observed> {
    let inits = status.init_container_statuses.iter().flatten();
    for init in inits {
        let waiting = init.state.as_ref().and_then(|state| state.waiting.as_ref());
        let Some(waiting) = waiting else { continue };
        return match waiting::read(waiting) {
            Observed::Pending { reason, .. } if reason.is_empty() => continue,
            Observed::Pending { reason, cause } => Some(Observed::Pending {
                reason: format!("container {}: {reason}", init.name),
                cause,
            }),
            Observed::Doomed { reason, cause } => Some(Observed::Doomed {
                reason: format!("container {}: {reason}", init.name),
                cause,
            }),
            other => Some(other),
        };
    }
    None
}
