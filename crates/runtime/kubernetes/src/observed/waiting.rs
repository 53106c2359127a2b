//! Containers that wait: the reason for people, and whether they ever run.
//!
//! The kubelet tells kinds of failed pulls apart by messages alone: this file reads them, and no
//! other code does.

use airside_runtime::{Cause, Observed};
use k8s_openapi::api::core::v1::ContainerStateWaiting;

/// Reads the state of a container that waits.
pub(super) fn read(waiting: &ContainerStateWaiting) -> Observed {
    let why = waiting.reason.as_deref().unwrap_or_default();
    let message = waiting.message.as_deref().unwrap_or_default().trim();
    let words = if message.is_empty() { why } else { message };
    match why {
        "" | "ContainerCreating" | "PodInitializing" => Observed::pending(),
        "InvalidImageName" | "ErrImageNeverPull" => doomed(
            Cause::ImageMissing,
            format!("the image cannot be used: {words}"),
        ),
        // Only after the kubelet has tried again: a mirror may learn of a new image late.
        "ImagePullBackOff" if says_missing(message) => doomed(
            Cause::ImageMissing,
            format!("the image does not exist: {message}"),
        ),
        "ImagePullBackOff" if says_refused(message) => doomed(
            Cause::ImageRefused,
            format!("the registry refuses to give the image: {message}"),
        ),
        "CrashLoopBackOff" => pending(format!("it keeps ending: {words}")),
        "ErrImagePull" | "ImagePullBackOff" | "ImageInspectError" | "RegistryUnavailable" => {
            pending(format!("the image cannot be pulled yet: {words}"))
        }
        "CreateContainerError" | "CreateContainerConfigError" | "RunContainerError" => {
            let reason = format!("the container cannot start: {words}");
            if passes(message) {
                pending(reason)
            } else {
                doomed(Cause::CannotStart, reason)
            }
        }
        other if message.is_empty() => pending(other.to_owned()),
        other => pending(format!("{other}: {message}")),
    }
}

fn pending(reason: String) -> Observed {
    let cause = Cause::Other;
    Observed::Pending { reason, cause }
}

fn doomed(cause: Cause, reason: String) -> Observed {
    Observed::Doomed { reason, cause }
}

/// Returns true if a pull failed because the registry knows no such image, by the messages of
/// containerd, CRI-O and the registries behind them.
fn says_missing(message: &str) -> bool {
    let message = message.to_lowercase();
    // A name that does not resolve is the network's trouble, not the image's.
    let network = ["no such host", "host not found", "dial tcp"];
    let missing = [
        "not found",
        "notfound",
        "manifest unknown",
        "name unknown",
        "does not exist",
    ];
    !network.iter().any(|text| message.contains(text))
        && missing.iter().any(|text| message.contains(text))
}

/// Returns true if the registry denied the pull. Trying again does not help; credentials in the
/// image's source might.
fn says_refused(message: &str) -> bool {
    let message = message.to_lowercase();
    let refused = [
        "unauthorized",
        "403 forbidden",
        "access denied",
        "authorization failed",
        "no basic auth credentials",
    ];
    refused.iter().any(|text| message.contains(text))
}

/// Returns true for errors of a busy node, which the kubelet overcomes by itself.
fn passes(message: &str) -> bool {
    [
        "context deadline exceeded",
        "is reserved for",
        "connection refused",
        "Unavailable desc",
    ]
    .iter()
    .any(|text| message.contains(text))
}
