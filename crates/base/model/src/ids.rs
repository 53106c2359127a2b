//! Identifiers: a type for each, so that a build's id is never passed where a job's is wanted.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

macro_rules! number_id {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

macro_rules! text_id {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

number_id! {
    TeamId,
    PipelineId,
    JobId,
    ResourceId,
    /// One version of one resource, as `fly` pins it.
    ResourceVersionId,
    BuildId,
}

text_id! {
    /// A node of a build's plan: hex of a counter, unique within the build.
    PlanId,
    /// One installation of Airside. Objects of another installation are never touched.
    InstallationId,
    /// One placement target: this machine, a cluster and namespace, or an agent.
    WorkerName,
    /// A sealed directory tree.
    VolumeId,
    /// One placement of one step: the name of its container or pod.
    Handle,
}

impl Handle {
    /// Derives a handle. A step, attempt and placement number always give one handle, so that
    /// placing is idempotent. 32 hex digits behind `s-`: a valid DNS label, as pods need.
    pub fn derive(
        installation: &InstallationId,
        build: BuildId,
        plan: &PlanId,
        attempt: u32,
        placement: u32,
    ) -> Self {
        let mut hash = Sha256::new();
        for part in [
            installation.as_str(),
            &build.to_string(),
            plan.as_str(),
            &attempt.to_string(),
            &placement.to_string(),
        ] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        Self(format!("s-{}", &hex::encode(hash.finalize())[..32]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_depends_on_every_part() {
        let installation = InstallationId::new("i");
        let base = Handle::derive(&installation, BuildId(1), &PlanId::new("2"), 1, 1);
        assert_eq!(
            base,
            Handle::derive(&installation, BuildId(1), &PlanId::new("2"), 1, 1)
        );
        for other in [
            Handle::derive(
                &InstallationId::new("j"),
                BuildId(1),
                &PlanId::new("2"),
                1,
                1,
            ),
            Handle::derive(&installation, BuildId(12), &PlanId::new(""), 1, 1),
            Handle::derive(&installation, BuildId(1), &PlanId::new("2"), 2, 1),
            Handle::derive(&installation, BuildId(1), &PlanId::new("2"), 1, 2),
        ] {
            assert_ne!(base, other);
        }
        assert_eq!(base.as_str().len(), 34);
    }
}
