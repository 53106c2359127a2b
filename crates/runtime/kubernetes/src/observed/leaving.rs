//! Reads why a running pod is taken away. Kubernetes says so before the pod ends: by a condition,
//! or only by the time of its deletion.

use k8s_openapi::api::core::v1::{Pod, PodStatus};

use super::{DISRUPTED, condition};

/// The reason why a running pod will end soon; none for a pod that stays.
pub(super) fn reason(pod: &Pod, status: &PodStatus) -> Option<String> {
    let target = condition(status, DISRUPTED).filter(|target| target.status == "True");
    let Some(target) = target else {
        return pod.metadata.deletion_timestamp.as_ref().map(|_| {
            "the pod was deleted, and Kubernetes names no reason: `kubectl delete` was run, or its namespace \
             is being deleted"
                .to_owned()
        });
    };
    let what = words(target.reason.as_deref().unwrap_or_default());
    Some(match target.message.as_deref().map(str::trim) {
        None | Some("") => what,
        Some(message) => format!("{what} ({message})"),
    })
}

fn words(reason: &str) -> String {
    match reason {
        "EvictionByEvictionAPI" => "the pod was evicted, as `kubectl drain` and autoscalers do",
        "PreemptionByScheduler" => "the pod was preempted by one of a higher priority",
        "DeletionByTaintManager" => "its node got a taint that the pod does not tolerate",
        "DeletionByPodGC" => "its node is no longer there",
        "TerminationByKubelet" => {
            "the kubelet ended the pod, because its node runs short of something or shuts down"
        }
        "" => "Kubernetes takes the pod away",
        other => return format!("Kubernetes takes the pod away ({other})"),
    }
    .to_owned()
}
