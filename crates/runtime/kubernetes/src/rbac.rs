//! The rights of an account, per feature in use, and the Roles that allow exactly that.
//!
//! Preflight asks for the same rights one by one, so that printed and requested rights are the
//! same. Never `pods/exec` and never `pods/log`.

mod manifest;

pub use manifest::{Account, Grant, manifest};

/// Something that needs rights of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Feature {
    /// Steps as pods.
    Core,
    /// Kept pods are made smaller.
    Resize,
    /// Kept pods say so.
    Marks,
    /// Secrets to pull images with, made and removed for steps.
    PullSecrets,
    /// Hermetic steps on targets without user namespaces.
    NetworkPolicies,
    /// Credentials that are read from a namespace.
    Credentials,
    /// Images that builds will want, as a hint to the agents that keep images on nodes.
    Images,
}

impl Feature {
    /// The features that this version uses on every target.
    pub const EVERYWHERE: &'static [Self] = &[Self::Core, Self::Resize, Self::Marks];

    pub const ALL: [Self; 7] = [
        Self::Core,
        Self::Resize,
        Self::Marks,
        Self::PullSecrets,
        Self::NetworkPolicies,
        Self::Credentials,
        Self::Images,
    ];

    /// Returns the feature's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Resize => "resize",
            Self::Marks => "marks",
            Self::PullSecrets => "pull-secrets",
            Self::NetworkPolicies => "network-policies",
            Self::Credentials => "credentials",
            Self::Images => "images",
        }
    }

    pub fn rule(self) -> Rule {
        let (group, resource, verbs): (_, _, &'static [&'static str]) = match self {
            Self::Core => ("", "pods", &["create", "get", "list", "watch", "delete"]),
            Self::Resize => ("", "pods/resize", &["patch"]),
            // Labels and annotations are changed through it too, and nothing that runs in a pod.
            Self::Marks => ("", "pods/status", &["patch"]),
            Self::PullSecrets => ("", "secrets", &["create", "delete"]),
            Self::NetworkPolicies => ("networking.k8s.io", "networkpolicies", &["create"]),
            Self::Credentials => ("", "secrets", &["get"]),
            Self::Images => (
                "images.airside.dev",
                "imagesets",
                &["create", "patch", "delete"],
            ),
        };
        Rule {
            group,
            resource,
            verbs,
        }
    }
}

/// The verbs that are allowed on one kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    pub group: &'static str,
    /// Resource with its subresource, if the rule is about one.
    pub resource: &'static str,
    pub verbs: &'static [&'static str],
}
