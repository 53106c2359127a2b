//! Reads a pod: what does it say about the step's placement? Pure, so that each rule has a test.
//!
//! The shim reports results itself; this is only for what a shim cannot say, because it does not
//! run yet, runs no longer, or its machine is away.

use airside_runtime::{Cause, Observed};
use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateTerminated, Pod, PodCondition, PodStatus,
};

use crate::{pod::CONTAINER, room::node_shortage};

/// The condition by which Kubernetes says that it takes a pod away, and why.
const DISRUPTED: &str = "DisruptionTarget";

mod before;
mod leaving;
mod waiting;

/// Returns the state of a pod that is there. One that is there no longer is [`Observed::Gone`].
pub fn observed(pod: &Pod) -> Observed {
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
    let Some(status) = &pod.status else {
        return Observed::pending();
    };
    let state = container_state(status);
    if let Some(ended) = state.and_then(|state| state.terminated.as_ref()) {
        return terminated(ended, pod, status, node);
    }
    if let Some(failed) = before::failed(pod, status) {
        return failed;
    }
    if matches!(status.phase.as_deref(), Some("Failed" | "Succeeded")) {
        return pod_ended(status, node);
    }
    if let Some(reason) = silence(status, node.as_deref()) {
        return Observed::Silent { node, reason };
    }
    if state.is_some_and(|state| state.running.is_some()) {
        return match leaving::reason(pod, status) {
            Some(reason) => Observed::Leaving { node, reason },
            None => Observed::Started { node },
        };
    }
    if let Some(blocked) = before::blocked(status) {
        return blocked;
    }
    if let Some(waiting) = state.and_then(|state| state.waiting.as_ref()) {
        return waiting::read(waiting);
    }
    unscheduled(status).unwrap_or_else(Observed::pending)
}

fn container_state(status: &PodStatus) -> Option<&ContainerState> {
    let mut containers = status.container_statuses.iter().flatten();
    containers
        .find(|container| container.name == CONTAINER)?
        .state
        .as_ref()
}

fn condition<'a>(status: &'a PodStatus, kind: &str) -> Option<&'a PodCondition> {
    status
        .conditions
        .iter()
        .flatten()
        .find(|condition| condition.type_ == kind)
}

/// The container ended, whatever the pod's phase says (a sidecar may keep it "running").
fn terminated(
    ended: &ContainerStateTerminated,
    pod: &Pod,
    status: &PodStatus,
    node: Option<String>,
) -> Observed {
    let why = ended.reason.as_deref().unwrap_or_default();
    let message = ended.message.as_deref().unwrap_or_default().trim();
    // It never ran: nothing of the image could be executed, and no other node would help.
    if matches!(why, "StartError" | "ContainerCannotRun") {
        return Observed::Doomed {
            reason: format!("the container cannot start: {message}"),
            cause: Cause::CannotStart,
        };
    }
    if status.reason.is_some() {
        return pod_ended(status, node);
    }
    let (mut reason, mut cause) = container_end(ended, pod);
    if !message.is_empty() {
        reason = format!("{reason}: {message}");
    }
    let is_deleted = pod.metadata.deletion_timestamp.is_some();
    if is_deleted && condition(status, DISRUPTED).is_none() {
        reason = format!("{reason} (the pod was deleted)");
    }
    if cause != Cause::OutOfMemory {
        cause = match (disruption(status), is_deleted) {
            (Some(_), _) => Cause::Evicted,
            (None, true) => Cause::Removed,
            (None, false) => cause,
        };
    }
    Observed::Gone {
        node,
        reason: with_disruption(reason, message, status),
        cause,
    }
}

/// Returns the end of the step's container by itself, whatever happened to its pod.
fn container_end(ended: &ContainerStateTerminated, pod: &Pod) -> (String, Cause) {
    let code = ended.exit_code;
    match ended.reason.as_deref().unwrap_or_default() {
        "OOMKilled" => {
            let limit = memory_limit(pod);
            let limit = limit.map_or(String::new(), |limit| {
                format!(": its limit is {limit} bytes")
            });
            let reason = format!("the step ran out of memory{limit} (OOMKilled)");
            (reason, Cause::OutOfMemory)
        }
        "" | "Error" | "Completed" => match ended.signal.filter(|signal| *signal != 0) {
            Some(signal) => {
                let reason = format!("the container was killed by signal {signal}");
                (reason, Cause::Killed { signal })
            }
            None => {
                let reason = format!("the container exited with code {code}");
                (reason, Cause::Exited { code: Some(code) })
            }
        },
        other => {
            let reason = format!("the container exited with code {code} ({other})");
            (reason, Cause::Other)
        }
    }
}

fn memory_limit(pod: &Pod) -> Option<&str> {
    let mut containers = pod.spec.as_ref()?.containers.iter();
    let step = containers.find(|container| container.name == CONTAINER)?;
    let limits = step.resources.as_ref()?.limits.as_ref()?;
    Some(&limits.get("memory")?.0)
}

/// Returns the end of a pod as a whole: `Evicted`, `OutOfcpu`, `NodeAffinity` and the like.
fn pod_ended(status: &PodStatus, node: Option<String>) -> Observed {
    let evicted = disruption(status).is_some() || status.reason.as_deref() == Some("Evicted");
    Observed::Gone {
        node,
        reason: pod_reason(status),
        cause: if evicted {
            Cause::Evicted
        } else {
            Cause::Other
        },
    }
}

fn pod_reason(status: &PodStatus) -> String {
    let phase = status.phase.as_deref().unwrap_or("Failed").to_lowercase();
    let reason = match (status.reason.as_deref(), status.message.as_deref()) {
        (Some(reason), Some(message)) => format!("the pod {phase}: {reason}: {}", message.trim()),
        (Some(text), None) | (None, Some(text)) => format!("the pod {phase}: {}", text.trim()),
        (None, None) => format!("the pod {phase}"),
    };
    let said = status.message.as_deref().unwrap_or_default();
    with_disruption(reason, said.trim(), status)
}

/// Returns the condition by which Kubernetes takes the pod away, if it does.
fn disruption(status: &PodStatus) -> Option<&PodCondition> {
    condition(status, DISRUPTED).filter(|target| target.status == "True")
}

/// Adds the message of the pod's disruption (preemption, a drained node) unless it is `said`
/// already.
fn with_disruption(reason: String, said: &str, status: &PodStatus) -> String {
    let message = disruption(status).and_then(|target| target.message.as_deref());
    match message.map(str::trim) {
        Some(message) if message != said => format!("{reason} ({message})"),
        _ => reason,
    }
}

/// The node controller marks the pods of a node that does not answer: `Ready` becomes false without
/// one of the kubelet's own reasons, and evicting one sets `NodeLost`.
fn silence(status: &PodStatus, node: Option<&str>) -> Option<String> {
    let what = match node {
        Some(node) => format!("node {node} does not answer"),
        None => "the node does not answer".to_owned(),
    };
    if status.reason.as_deref() == Some("NodeLost") {
        let message = status.message.as_deref().unwrap_or_default().trim();
        return Some(format!("{what} (NodeLost: {message})"));
    }
    // Whatever the kubelet itself says of a pod that has not started is not silence.
    let started = container_state(status).is_some_and(|state| state.running.is_some());
    let ready = condition(status, "Ready").filter(|_| started)?;
    if ready.status == "True" {
        return None;
    }
    match ready.reason.as_deref().unwrap_or_default() {
        "ContainersNotReady" | "ReadinessGatesNotReady" | "PodCompleted" | "PodFailed" => None,
        "" => Some(what),
        reason => Some(format!("{what} ({reason})")),
    }
}

/// Returns the state of a pod for which the scheduler has found no node.
fn unscheduled(status: &PodStatus) -> Option<Observed> {
    let scheduled = condition(status, "PodScheduled").filter(|it| it.status == "False")?;
    let reason = scheduled.reason.as_deref().unwrap_or("Unschedulable");
    let message = scheduled.message.as_deref().unwrap_or_default().trim();
    let reason = match reason {
        "Unschedulable" => format!("no node takes the pod yet: {message}"),
        reason => format!("no node takes the pod yet ({reason}): {message}"),
    };
    let shortage = node_shortage(message);
    let cause = shortage.map_or(Cause::Other, |shortage| Cause::NoRoom { shortage });
    Some(Observed::Pending { reason, cause })
}

#[cfg(test)]
mod tests;
