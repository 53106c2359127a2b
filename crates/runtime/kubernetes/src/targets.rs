//! The targets file: which clusters and namespaces are workers, and under which rules.
//!
//! ```yaml
//! targets:
//! - name: build-cluster
//!   kubeconfig: /etc/airside/build.kubeconfig # neither this nor context: the pod's own account
//!   context: build
//!   namespace: ci
//!   hub_host: airside.example.com
//! ```
//!
//! Reading it does not touch any cluster.

mod file;
mod flag;
mod located;
mod offer;
mod pod_rules;
pub(crate) mod quantity;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use airside_clusters::ClusterAccess;
use airside_model::WorkerName;
use serde::Deserialize;
use serde_json::json;

pub use self::offer::{Offer, PodSecurity};
pub use crate::pod::rules::PodRule;
use crate::rbac::Feature;
pub use airside_clusters::Rate;

/// One cluster and namespace, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub name: WorkerName,
    pub kubeconfig: Option<PathBuf>,
    pub context: Option<String>,
    /// A folder with `token` and `ca.crt`, as pods have one of their service account.
    pub service_account: Option<PathBuf>,
    /// Address of the API server, for `service_account`; where absent, the pod's environment names
    /// it.
    pub api_server: Option<String>,
    pub namespace: String,
    /// The one team it serves; all of them when absent.
    pub team: Option<String>,
    pub tags: Vec<String>,
    /// The hub's address as pods see it, without its port.
    pub hub_host: String,
    pub shim_image: String,
    /// Image for `type: host`.
    pub host_image: Option<String>,
    pub node_selector: BTreeMap<String, String>,
    pub tolerations: Vec<Toleration>,
    /// Pods prefer nodes whose labels say that they have the step's image.
    pub prefer_image_nodes: bool,
    /// True if images that builds will want are hinted to the agents that keep images on nodes.
    pub prefetch: bool,
    /// Pods share the node's user ids. Off, each has a user namespace of its own.
    pub host_users: bool,
    pub claim_proof: ClaimProof,
    /// Time for which a node may not answer before its silent steps count as lost.
    pub lost_after: Duration,
    /// Time that a pod has to flush once another than this server deletes it.
    pub grace_period: Duration,
    pub default_requests: DefaultRequests,
    pub privileged: Privileged,
    pub pod_security: PodSecurity,
    /// The features that it has beyond ordinary steps; everything that it can when absent.
    pub offered: Option<Vec<Offer>>,
    pub shim: ShimDelivery,
    pub pod_rules: Vec<PodRule>,
    pub kept: KeptPods,
    /// The server's own registry as nodes see it; images that are artifacts are pulled from there.
    pub registry: Option<String>,
    /// Secrets of the namespace with which its nodes pull images.
    pub pull_secrets: Vec<String>,
    pub rate: Rate,
    /// Largest number of pods. Steps beyond it wait.
    pub max_pods: Option<u32>,
    /// Time for which a shim may be without the hub before it ends its process; absent for the
    /// server's own.
    pub fence_after: Option<Duration>,
    /// Time for which the API server may not answer before the worker counts as stalled.
    pub stalled_after: Duration,
}

/// The treatment of steps that ask for privileged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Privileged {
    /// Privileged steps are refused.
    #[default]
    Deny,
    /// Privileged steps are privileged inside a user namespace of their own.
    Userns,
    /// Privileged steps are root on their node.
    Host,
}

/// The way of the shim into pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShimDelivery {
    #[default]
    ImageVolume,
    /// A copy by an init container, for clusters without image volumes.
    InitContainer,
}

/// Pods that stay after their step, for people to look inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptPods {
    /// Number of kept pods, where the server's own limit is too many.
    pub most: Option<usize>,
    /// Time for which containers stay after a build that did not succeed; without it the server's
    /// setting counts.
    pub stay: Option<Duration>,
    /// Idle time after which kept containers give back what they had asked for.
    pub shrink_after: Duration,
}

impl Target {
    /// Returns the features that this target's account needs rights for.
    pub fn features(&self) -> Vec<Feature> {
        let mut features = vec![Feature::Core];
        if self.offers(Offer::KeptResize) {
            features.push(Feature::Resize);
        }
        if self.offers(Offer::KeptMarks) {
            features.push(Feature::Marks);
        }
        if self.registry.is_some() {
            features.push(Feature::PullSecrets);
        }
        if self.host_users && self.offers(Offer::Hermetic) {
            features.push(Feature::NetworkPolicies);
        }
        if self.prefetch {
            features.push(Feature::Images);
        }
        features
    }

    /// Returns true if the target is for this team, or one of its pod rules is.
    pub(crate) fn names_team(&self, team: &str) -> bool {
        let mut rules = self.pod_rules.iter();
        self.team.as_deref() == Some(team) || rules.any(|rule| rule.matching.team == team)
    }

    /// Returns true if an image is in the server's own registry.
    pub(crate) fn is_own(&self, reference: &str) -> bool {
        let Some(registry) = &self.registry else {
            return false;
        };
        let below = reference.strip_prefix(registry.as_str());
        below.is_some_and(|rest| rest.starts_with('/'))
    }

    /// Returns the way to the target's cluster.
    pub(crate) fn access(&self) -> ClusterAccess {
        ClusterAccess {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
            service_account: self.service_account.clone(),
            api_server: self.api_server.clone(),
        }
    }

    /// Returns true if both mean the same pods: a step that is followed through one is found
    /// through the other.
    pub fn is_same_place(&self, other: &Self) -> bool {
        let place = |target: &Self| (target.access(), target.namespace.clone());
        place(self) == place(other)
    }
}

/// The proof that a claim must show besides its token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimProof {
    /// A service-account token that the kubelet made for this very pod.
    #[default]
    Projected,
    /// No proof: every reader of the namespace's pods is trusted.
    None,
}

/// Reserved for steps that set no limits of their own, as Kubernetes quantities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultRequests {
    pub cpu: String,
    pub memory: String,
}

impl Default for DefaultRequests {
    fn default() -> Self {
        Self {
            cpu: "100m".to_owned(),
            memory: "128Mi".to_owned(),
        }
    }
}

/// A toleration, spelled as in a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Toleration {
    pub key: Option<String>,
    pub operator: Option<String>,
    pub value: Option<String>,
    pub effect: Option<String>,
    pub toleration_seconds: Option<i64>,
}

#[derive(Debug, thiserror::Error)]
pub enum TargetsError {
    #[error("{}: cannot read the targets file", file.display())]
    Read {
        file: PathBuf,
        source: std::io::Error,
    },
    #[error("{}{}: {message}", file.display(), position(*line, *column))]
    Invalid {
        file: PathBuf,
        line: u64,
        column: u64,
        message: String,
    },
}

fn position(line: u64, column: u64) -> String {
    if line == 0 {
        String::new()
    } else {
        format!(":{line}:{column}")
    }
}

/// Reads and checks a targets file.
pub fn load(file: &Path) -> Result<Vec<Target>, TargetsError> {
    let text = std::fs::read_to_string(file).map_err(|source| TargetsError::Read {
        file: file.to_owned(),
        source,
    })?;
    parse(file, &text)
}

/// Checks the text of a targets file; its name is only for the messages.
pub fn parse(file: &Path, text: &str) -> Result<Vec<Target>, TargetsError> {
    file::parse(text).map_err(|fault| TargetsError::Invalid {
        file: file.to_owned(),
        line: fault.line,
        column: fault.column,
        message: fault.message,
    })
}

/// Checks targets that were given one by one, each as
/// `name=build,namespace=ci,hub_host=ci.example.com`.
pub fn from_flags(flags: &[String]) -> Result<Vec<Target>, TargetsError> {
    let named = Path::new("--target");
    let invalid = |message: String| TargetsError::Invalid {
        file: named.to_owned(),
        line: 0,
        column: 0,
        message,
    };
    if flags.is_empty() {
        return Ok(Vec::new());
    }
    let entries = flags.iter().map(|flag| flag::entry(flag));
    let entries = entries.collect::<Result<Vec<_>, _>>().map_err(invalid)?;
    // JSON is YAML. Its lines mean nothing to the administrator.
    file::parse(&json!({ "targets": entries }).to_string()).map_err(|fault| invalid(fault.message))
}
