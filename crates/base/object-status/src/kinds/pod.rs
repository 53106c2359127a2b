//! The rule of pods.

use serde_json::Value;

use crate::{ObjectVerdict, conditions, verdict::text};

/// The number of containers that are looked at for the reason of a wait or a failure.
const MAX_CONTAINERS: usize = 50;

/// Judges a pod. One that always restarts is done when it is ready; any other when it has ended.
pub(super) fn judge(pod: &Value) -> ObjectVerdict {
    match text(pod, "/status/phase") {
        "Succeeded" => ObjectVerdict::done("Succeeded"),
        "Failed" => failed(pod),
        phase => {
            let ready = conditions::find(pod, "Ready");
            let is_service = matches!(text(pod, "/spec/restartPolicy"), "" | "Always");
            if is_service && ready.is_some_and(|ready| ready.is_true()) {
                return ObjectVerdict::done("Ready");
            }
            let phase = if phase.is_empty() {
                "not scheduled"
            } else {
                phase
            };
            let why = held_up(pod).map(|why| format!(": {why}"));
            ObjectVerdict::going_on(&format!("the pod is {phase}{}", why.unwrap_or_default()))
        }
    }
}

fn failed(pod: &Value) -> ObjectVerdict {
    let reason = text(pod, "/status/reason");
    if !reason.is_empty() {
        return ObjectVerdict::failed(reason, text(pod, "/status/message"));
    }
    let ends = containers(pod).filter_map(|container| {
        let end = container.pointer("/state/terminated")?;
        let code = end.get("exitCode").and_then(Value::as_i64)?;
        (code != 0).then(|| (text(container, "/name"), code, text(end, "/reason")))
    });
    match ends.last() {
        Some((name, code, reason)) => {
            let reason = if reason.is_empty() { "Error" } else { reason };
            let message = format!("container {name} ended with exit status {code}");
            ObjectVerdict::failed(reason, &message)
        }
        None => ObjectVerdict::failed("Failed", text(pod, "/status/message")),
    }
}

/// Returns what keeps a pod from running: no node for it, or a container that cannot start.
fn held_up(pod: &Value) -> Option<String> {
    let scheduled = conditions::find(pod, "PodScheduled").filter(|found| found.is_false());
    if let Some(scheduled) = scheduled {
        return Some(format!("{}: {}", scheduled.reason(), scheduled.message()));
    }
    containers(pod).find_map(|container| {
        let waiting = container.pointer("/state/waiting")?;
        let (reason, message) = (text(waiting, "/reason"), text(waiting, "/message"));
        Some(format!(
            "container {}: {reason} {message}",
            text(container, "/name")
        ))
    })
}

fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["/status/initContainerStatuses", "/status/containerStatuses"];
    let all = lists
        .into_iter()
        .filter_map(|list| pod.pointer(list)?.as_array());
    all.flatten().take(MAX_CONTAINERS)
}
