//! The rules of what makes pods.

use serde_json::Value;

use crate::{
    ObjectVerdict, conditions,
    verdict::{number, text},
};

pub(super) fn job(job: &Value) -> ObjectVerdict {
    if let Some(failed) = conditions::find(job, "Failed").filter(|found| found.is_true()) {
        return ObjectVerdict::failed(failed.reason_or("Failed"), failed.message());
    }
    if conditions::find(job, "Complete").is_some_and(|found| found.is_true()) {
        return ObjectVerdict::done("Complete");
    }
    if job.pointer("/spec/suspend") == Some(&Value::Bool(true)) {
        return ObjectVerdict::going_on("the job is suspended");
    }
    let count = |field| number(job, field).unwrap_or_default();
    let needed = number(job, "/spec/completions").unwrap_or(1);
    ObjectVerdict::going_on(&format!(
        "{} of {needed} pods have succeeded, {} run, {} have failed",
        count("/status/succeeded"),
        count("/status/active"),
        count("/status/failed"),
    ))
}

pub(super) fn deployment(deployment: &Value) -> ObjectVerdict {
    let progressing = conditions::find(deployment, "Progressing");
    let late = progressing.filter(|found| found.reason() == "ProgressDeadlineExceeded");
    if let Some(late) = late {
        return ObjectVerdict::failed(late.reason(), late.message());
    }
    if deployment.pointer("/spec/paused") == Some(&Value::Bool(true)) {
        return ObjectVerdict::going_on("the deployment is paused");
    }
    let count = |field| number(deployment, field).unwrap_or_default();
    let desired = number(deployment, "/spec/replicas").unwrap_or(1);
    let (all, updated) = (count("/status/replicas"), count("/status/updatedReplicas"));
    let available = count("/status/availableReplicas");
    if updated < desired {
        return waiting_for(updated, desired, "updated", deployment);
    }
    if all > updated {
        let old = all.saturating_sub(updated);
        return ObjectVerdict::going_on(&format!("{old} old replicas are still there"));
    }
    if available < updated.max(desired) {
        return waiting_for(available, desired, "available", deployment);
    }
    ObjectVerdict::done("Available")
}

/// Says how many replicas there are, and why no more can be made if that is known.
fn waiting_for(now: i64, desired: i64, what: &str, object: &Value) -> ObjectVerdict {
    let failure = conditions::find(object, "ReplicaFailure").filter(|found| found.is_true());
    let why = failure.map(|found| format!(": {}", found.message()));
    let why = why.unwrap_or_default();
    ObjectVerdict::going_on(&format!("{now} of {desired} replicas are {what}{why}"))
}

pub(super) fn stateful_set(set: &Value) -> ObjectVerdict {
    let count = |field| number(set, field).unwrap_or_default();
    let desired = number(set, "/spec/replicas").unwrap_or(1);
    let ready = count("/status/readyReplicas");
    if ready < desired {
        return waiting_for(ready, desired, "ready", set);
    }
    if text(set, "/spec/updateStrategy/type") == "OnDelete" {
        return ObjectVerdict::done("Ready");
    }
    let partition = count("/spec/updateStrategy/rollingUpdate/partition").max(0);
    if partition > 0 {
        let (updated, to_update) = (
            count("/status/updatedReplicas"),
            desired.saturating_sub(partition),
        );
        if updated < to_update {
            return waiting_for(updated, to_update, "updated", set);
        }
        return ObjectVerdict::done("Ready");
    }
    let (current, update) = (
        text(set, "/status/currentRevision"),
        text(set, "/status/updateRevision"),
    );
    if current == update {
        ObjectVerdict::done("Ready")
    } else {
        waiting_for(count("/status/updatedReplicas"), desired, "updated", set)
    }
}

pub(super) fn daemon_set(set: &Value) -> ObjectVerdict {
    let count = |field| number(set, field).unwrap_or_default();
    let desired = count("/status/desiredNumberScheduled");
    let updated = count("/status/updatedNumberScheduled");
    let available = count("/status/numberAvailable");
    if text(set, "/spec/updateStrategy/type") != "OnDelete" && updated < desired {
        return ObjectVerdict::going_on(&format!("{updated} of {desired} pods are updated"));
    }
    if available < desired {
        return ObjectVerdict::going_on(&format!("{available} of {desired} pods are available"));
    }
    ObjectVerdict::done("Available")
}

pub(super) fn replica_set(set: &Value) -> ObjectVerdict {
    let desired = number(set, "/spec/replicas").unwrap_or(1);
    let available = number(set, "/status/availableReplicas").unwrap_or_default();
    if available < desired {
        return waiting_for(available, desired, "available", set);
    }
    ObjectVerdict::done("Available")
}
