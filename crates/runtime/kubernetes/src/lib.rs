//! Places steps on Kubernetes: one pod for each step, one [`KubeRuntime`] for each target.
//!
//! ```text
//! targets   what the operator wrote        → Target
//! pod       PlacementSpec + Target         → Pod          (pure)
//! runtime   create, adopt, delete, list    → API server
//! watch     one shared watch               → Observation  (reading a pod is pure: `observed`)
//! attend    is it there, what does it lack → Condition    (`preflight` finds out)
//! rbac      targets and what they use      → the Role     (pure)
//! proof     a pod's own token              → yes or why not, without asking the API server
//! ```
//!
//! A target is one cluster and namespace and is one worker. A step costs one create and one delete,
//! and a patch if its pod is kept for long; a Secret is written only to pull images with
//! (`pull_secrets`), a NetworkPolicy only for hermetic steps without user namespaces
//! (`network_policy`). Nothing here executes into pods or reads their logs. Beside all that,
//! `secrets` reads Secrets for installations whose credentials are kept in a cluster.

mod attend;
mod keys;
mod labels;
mod network_policy;
mod next_images;
mod observed;
mod own_images;
mod pod;
mod preflight;
mod proof;
mod pull_secrets;
pub mod rbac;
mod ready;
mod refusal;
mod room;
mod runtime;
mod secrets;
pub mod targets;
mod watch;

pub use keys::KeysError;
pub use observed::observed;
pub use own_images::{ImagePublisher, Login, PublishError};
pub use pod::pod_for;
pub use proof::ProofError;
pub use pull_secrets::{NamesInMemory, PullSecretNames};
pub use runtime::{ConnectError, KubeRuntime};
pub use secrets::{SecretReader, SecretsError};
pub use targets::{
    ClaimProof, DefaultRequests, KeptPods, Offer, PodRule, PodSecurity, Privileged, Rate,
    ShimDelivery, Target, TargetsError, Toleration,
};
