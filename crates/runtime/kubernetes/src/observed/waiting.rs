//! Why a container does not run yet, and whether it ever can.

use airside_runtime::Observed;
use k8s_openapi::api::core::v1::ContainerStateWaiting;

pub(super) fn read(waiting: &ContainerStateWaiting) -> Observed {
    let why = waiting.reason.as_deref().unwrap_or_default();
    let message = waiting.message.as_deref().unwrap_or_default().trim();
    let words = || {
        if message.is_empty() {
            why.to_owned()
        } else {
            message.to_owned()
        }
    };
    match why {
        "" | "ContainerCreating" | "PodInitializing" => Observed::Pending {
            reason: String::new(),
        },
        "InvalidImageName" | "ErrImageNeverPull" => Observed::Doomed {
            reason: format!("the image cannot be used: {}", words()),
        },
        // Only after the kubelet has tried again: a mirror may learn of a new image late.
        "ImagePullBackOff" if says_missing(message) => Observed::Doomed {
            reason: format!("the image does not exist: {message}"),
        },
        "ImagePullBackOff" if says_refused(message) => Observed::Doomed {
            reason: format!("the registry refuses to give the image: {message}"),
        },
        "CrashLoopBackOff" => Observed::Pending {
            reason: format!("it keeps ending: {}", words()),
        },
        "ErrImagePull" | "ImagePullBackOff" | "ImageInspectError" | "RegistryUnavailable" => {
            Observed::Pending {
                reason: format!("the image cannot be pulled yet: {}", words()),
            }
        }
        "CreateContainerError" | "CreateContainerConfigError" | "RunContainerError" => {
            let reason = format!("the container cannot start: {}", words());
            if passes(message) {
                Observed::Pending { reason }
            } else {
                Observed::Doomed { reason }
            }
        }
        other => Observed::Pending {
            reason: if message.is_empty() {
                other.to_owned()
            } else {
                format!("{other}: {message}")
            },
        },
    }
}

/// Whether a pull failed because the registry knows no such image, in the words of containerd,
/// CRI-O and the registries behind them.
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

/// Whether a pull failed for want of the right to it. Trying again does not help; credentials in the image's
/// source might.
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

/// Errors of a busy node, which the kubelet overcomes by itself.
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
