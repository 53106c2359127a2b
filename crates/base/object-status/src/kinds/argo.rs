//! The rules of Argo CD's applications and Argo Workflows, which have no conditions of the usual
//! kind.

use serde_json::Value;

use crate::{ObjectVerdict, conditions, verdict::text};

/// The number of sources of one application that are compared.
const MAX_SOURCES: usize = 100;

/// Judges an application by `status.sync` and `status.health`. Its definition has no status
/// subresource, so that its generation says nothing; but the status repeats the sources that it
/// is about.
pub(super) fn application(application: &Value) -> ObjectVerdict {
    let sync = text(application, "/status/sync/status");
    let health = text(application, "/status/health/status");
    if sync.is_empty() {
        return ObjectVerdict::Unreported;
    }
    if is_compared_to_other(application) {
        return ObjectVerdict::going_on("its status is about other sources than it has now");
    }
    let invalid = conditions::find(application, "InvalidSpecError");
    if let Some(invalid) = invalid {
        return ObjectVerdict::failed("InvalidSpecError", invalid.message());
    }
    match (sync, health) {
        ("Synced", "Healthy") => ObjectVerdict::done("Healthy"),
        ("Synced", "Degraded") => {
            ObjectVerdict::failed("Degraded", text(application, "/status/health/message"))
        }
        _ if has_failed(application) => {
            let message = text(application, "/status/operationState/message");
            ObjectVerdict::failed("SyncFailed", message)
        }
        _ => {
            let why = conditions::find(application, "ComparisonError");
            let why = why.map(|why| format!(": {}", why.message()));
            let why = why.unwrap_or_default();
            ObjectVerdict::going_on(&format!("the application is {sync} and {health}{why}"))
        }
    }
}

/// Returns true if the status is about another place of manifests than the application names now.
fn is_compared_to_other(application: &Value) -> bool {
    let Some(compared) = application.pointer("/status/sync/comparedTo") else {
        return false;
    };
    application
        .get("spec")
        .is_some_and(|spec| places(spec) != places(compared))
}

/// Returns where the manifests of an application come from: repository, revision, path, chart.
fn places(spec: &Value) -> Vec<[&str; 4]> {
    let several = spec.get("sources").and_then(Value::as_array);
    let several = several.filter(|sources| !sources.is_empty());
    let one = spec.get("source").map(std::slice::from_ref);
    let sources = several.map(Vec::as_slice).or(one).unwrap_or_default();
    let place = |source| {
        ["/repoURL", "/targetRevision", "/path", "/chart"].map(|field| text(source, field))
    };
    sources.iter().take(MAX_SOURCES).map(place).collect()
}

/// Returns true if the last synchronisation of the revision that is compared now has failed.
fn has_failed(application: &Value) -> bool {
    let phase = text(application, "/status/operationState/phase");
    let tried = text(application, "/status/operationState/syncResult/revision");
    let current = text(application, "/status/sync/revision");
    matches!(phase, "Failed" | "Error") && tried == current
}

pub(super) fn workflow(workflow: &Value) -> ObjectVerdict {
    let message = text(workflow, "/status/message");
    match text(workflow, "/status/phase") {
        "Succeeded" => ObjectVerdict::done("Succeeded"),
        phase @ ("Failed" | "Error") => ObjectVerdict::failed(phase, message),
        "" => ObjectVerdict::Unreported,
        phase => ObjectVerdict::going_on(&format!("the workflow is {phase} {message}")),
    }
}
