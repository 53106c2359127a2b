//! The file as written, and every check between it and a [`Target`].

use std::{
    collections::{BTreeMap, HashMap},
    net::Ipv6Addr,
    path::PathBuf,
    time::Duration,
};

use airside_clusters::{AccessMistake, ClusterAccess};
use airside_kube_objects::DEFAULT_SHIM_IMAGE;
use airside_model::{WorkerName, chain};
use serde::Deserialize;
use serde_saphyr::{Location, Spanned};

use super::{
    ClaimProof, DefaultRequests, KeptPods, Offer, PodSecurity, Privileged, Rate, ShimDelivery,
    Target, Toleration, pod_rules, quantity,
};
use crate::labels;

/// A fault and its line; line 0 if it is not known.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) line: u64,
    pub(super) column: u64,
    pub(super) message: String,
}

impl Fault {
    pub(super) fn at(location: Location, message: impl Into<String>) -> Self {
        Self {
            line: location.line(),
            column: location.column(),
            message: message.into(),
        }
    }
}

impl From<serde_saphyr::Error> for Fault {
    fn from(error: serde_saphyr::Error) -> Self {
        let error = error.without_snippet();
        let location = error.location().unwrap_or(Location::UNKNOWN);
        let text = chain(&error);
        // The place is printed once, in front.
        let place = format!(" at line {}, column {}", location.line(), location.column());
        Self::at(location, text.replace(&place, ""))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    targets: Vec<TargetEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TargetEntry {
    name: Spanned<String>,
    kubeconfig: Option<PathBuf>,
    context: Option<String>,
    service_account: Option<Spanned<PathBuf>>,
    api_server: Option<Spanned<String>>,
    namespace: Spanned<String>,
    team: Option<Spanned<String>>,
    #[serde(default)]
    tags: Vec<Spanned<String>>,
    hub_host: Spanned<String>,
    shim_image: Option<Spanned<String>>,
    host_image: Option<Spanned<String>>,
    #[serde(default)]
    node_selector: BTreeMap<String, String>,
    #[serde(default)]
    tolerations: Vec<Toleration>,
    prefer_image_nodes: Option<bool>,
    #[serde(default)]
    prefetch: bool,
    privileged: Option<Spanned<Privileged>>,
    pod_security: Option<Spanned<PodSecurity>>,
    offers: Option<Vec<Offer>>,
    #[serde(default)]
    shim: ShimDelivery,
    #[serde(default)]
    pod_rules: Vec<pod_rules::RuleEntry>,
    kept_max: Option<usize>,
    kept_for_seconds: Option<Spanned<u32>>,
    kept_shrink_after_seconds: Option<Spanned<u32>>,
    #[serde(default)]
    host_users: bool,
    #[serde(default)]
    claim_proof: ClaimProof,
    lost_after_seconds: Option<Spanned<u32>>,
    grace_period_seconds: Option<Spanned<u32>>,
    #[serde(default)]
    default_requests: Requests,
    registry: Option<Spanned<String>>,
    #[serde(default)]
    pull_secrets: Vec<Spanned<String>>,
    qps: Option<Spanned<u32>>,
    burst: Option<Spanned<u32>>,
    max_pods: Option<Spanned<u32>>,
    fence_after_seconds: Option<Spanned<u32>>,
    stalled_after_seconds: Option<Spanned<u32>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Requests {
    cpu: Option<Spanned<String>>,
    memory: Option<Spanned<String>>,
}

pub(super) fn parse(text: &str) -> Result<Vec<Target>, Fault> {
    let file: File = serde_saphyr::from_str(text)?;
    let mut lines = HashMap::new();
    let mut targets = Vec::new();
    for entry in file.targets {
        let (name, location) = (entry.name.value.clone(), entry.name.referenced);
        if let Some(line) = lines.insert(name.clone(), location.line()) {
            let message = format!("name: there is a target {name:?} already, at line {line}");
            return Err(Fault::at(location, message));
        }
        targets.push(entry.check()?);
    }
    Ok(targets)
}

impl TargetEntry {
    fn check(self) -> Result<Target, Fault> {
        check_name(&self.name)?;
        check_namespace(&self.namespace)?;
        check_hub_host(&self.hub_host)?;
        self.check_account()?;
        let privileged = check_privileged(self.privileged, self.host_users)?;
        let pod_security = check_pod_security(self.pod_security, privileged, self.host_users)?;
        for secret in &self.pull_secrets {
            check_secret(secret)?;
        }
        if let Some(registry) = &self.registry {
            check_registry(registry)?;
        }
        let rate = Rate::default();
        for tag in &self.tags {
            check_filled("tags", tag)?;
        }
        let defaults = DefaultRequests::default();
        Ok(Target {
            name: WorkerName(self.name.value),
            kubeconfig: self.kubeconfig,
            context: self.context,
            service_account: self.service_account.map(|folder| folder.value),
            api_server: self.api_server.map(|server| server.value),
            namespace: self.namespace.value,
            team: filled("team", self.team)?,
            tags: self.tags.into_iter().map(|tag| tag.value).collect(),
            hub_host: self.hub_host.value,
            shim_image: filled("shim_image", self.shim_image)?
                .unwrap_or_else(|| DEFAULT_SHIM_IMAGE.to_owned()),
            host_image: filled("host_image", self.host_image)?,
            node_selector: self.node_selector,
            tolerations: self.tolerations,
            prefer_image_nodes: self.prefer_image_nodes.unwrap_or(true),
            prefetch: self.prefetch,
            host_users: self.host_users,
            claim_proof: self.claim_proof,
            lost_after: seconds("lost_after_seconds", self.lost_after_seconds, 30)?,
            grace_period: seconds("grace_period_seconds", self.grace_period_seconds, 300)?,
            default_requests: DefaultRequests {
                cpu: request("default_requests.cpu", self.default_requests.cpu)?
                    .unwrap_or(defaults.cpu),
                memory: request("default_requests.memory", self.default_requests.memory)?
                    .unwrap_or(defaults.memory),
            },
            privileged,
            pod_security,
            offered: self.offers,
            shim: self.shim,
            pod_rules: (self.pod_rules.into_iter())
                .map(|rule| rule.check(privileged))
                .collect::<Result<_, _>>()?,
            kept: KeptPods {
                most: self.kept_max,
                stay: match self.kept_for_seconds {
                    Some(stay) => Some(seconds("kept_for_seconds", Some(stay), 1)?),
                    None => None,
                },
                shrink_after: seconds(
                    "kept_shrink_after_seconds",
                    self.kept_shrink_after_seconds,
                    300,
                )?,
            },
            registry: self.registry.map(|registry| registry.value),
            pull_secrets: self.pull_secrets.into_iter().map(|it| it.value).collect(),
            rate: Rate {
                qps: at_least_one("qps", self.qps)?.unwrap_or(rate.qps),
                burst: at_least_one("burst", self.burst)?.unwrap_or(rate.burst),
            },
            max_pods: at_least_one("max_pods", self.max_pods)?,
            fence_after: at_least_one("fence_after_seconds", self.fence_after_seconds)?
                .map(|seconds| Duration::from_secs(seconds.into())),
            stalled_after: seconds("stalled_after_seconds", self.stalled_after_seconds, 30)?,
        })
    }

    /// A cluster is reached in one way.
    fn check_account(&self) -> Result<(), Fault> {
        let access = ClusterAccess {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
            service_account: self.service_account.as_ref().map(|it| it.value.clone()),
            api_server: self.api_server.as_ref().map(|it| it.value.clone()),
        };
        let located = |mistake: AccessMistake| {
            let at = match mistake {
                AccessMistake::TwoAccounts => self.service_account.as_ref().map(|it| it.referenced),
                AccessMistake::TwoServers | AccessMistake::NoUrl(_) => {
                    self.api_server.as_ref().map(|it| it.referenced)
                }
            };
            Fault::at(at.unwrap_or(Location::UNKNOWN), chain(&mistake))
        };
        access.check().map_err(located)
    }
}

fn check_name(name: &Spanned<String>) -> Result<(), Fault> {
    let lower = !name.value.bytes().any(|b| b.is_ascii_uppercase());
    if lower && labels::is_value(&name.value) {
        return Ok(());
    }
    let message = format!(
        "name: {:?} is not a worker name: use up to 63 lower-case letters, digits, '-', '_' and '.', \
         with a letter or digit at both ends",
        name.value
    );
    Err(Fault::at(name.referenced, message))
}

fn check_namespace(namespace: &Spanned<String>) -> Result<(), Fault> {
    let text = &namespace.value;
    let plain = text
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if plain && labels::is_value(text) {
        return Ok(());
    }
    let message = format!("namespace: {text:?} cannot be the name of a Kubernetes namespace");
    Err(Fault::at(namespace.referenced, message))
}

fn check_hub_host(host: &Spanned<String>) -> Result<(), Fault> {
    let text = host.value.as_str();
    let name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
    if text.parse::<Ipv6Addr>().is_ok() || (!text.is_empty() && text.bytes().all(name)) {
        return Ok(());
    }
    let message = format!(
        "hub_host: {text:?} is neither a host name nor an address; leave out scheme, port and \
         brackets, the hub's own port is added"
    );
    Err(Fault::at(host.referenced, message))
}

/// Checks a registry's name: one that has neither a dot nor a port would be taken for a repository
/// of Docker Hub.
fn check_registry(registry: &Spanned<String>) -> Result<(), Fault> {
    let text = registry.value.as_str();
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    };
    let name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.');
    let named = !host.is_empty() && host.bytes().all(name);
    let numbered = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    if named && numbered && (port.is_some() || host.contains('.') || host == "localhost") {
        return Ok(());
    }
    let message = format!(
        "registry: {text:?} is not a registry such as localhost:5000 or images.example.com; leave out scheme and \
         path"
    );
    Err(Fault::at(registry.referenced, message))
}

fn check_privileged(
    privileged: Option<Spanned<Privileged>>,
    host_users: bool,
) -> Result<Privileged, Fault> {
    match privileged {
        Some(rule) if rule.value == Privileged::Userns && host_users => Err(Fault::at(
            rule.referenced,
            "privileged: userns needs user namespaces, which host_users: true gives up; say host to \
             have privileged steps as root of the node",
        )),
        rule => Ok(rule.map(|rule| rule.value).unwrap_or_default()),
    }
}

/// Refuses a target that promises what a namespace of this level would refuse.
fn check_pod_security(
    level: Option<Spanned<PodSecurity>>,
    privileged: Privileged,
    host_users: bool,
) -> Result<PodSecurity, Fault> {
    let Some(level) = level else {
        return Ok(PodSecurity::default());
    };
    if level.value != PodSecurity::Privileged && privileged != Privileged::Deny {
        return Err(Fault::at(
            level.referenced,
            "pod_security: a namespace that enforces baseline or restricted refuses privileged pods; leave \
             privileged out, or pod_security",
        ));
    }
    if level.value == PodSecurity::Restricted && host_users {
        return Err(Fault::at(
            level.referenced,
            "pod_security: restricted needs user namespaces, which host_users: true gives up: without one the \
             shim, which is root in its pod, would be refused",
        ));
    }
    Ok(level.value)
}

pub(super) fn check_filled(field: &str, text: &Spanned<String>) -> Result<(), Fault> {
    if text.value.trim().is_empty() {
        return Err(Fault::at(
            text.referenced,
            format!("{field}: must not be empty"),
        ));
    }
    Ok(())
}

fn filled(field: &str, text: Option<Spanned<String>>) -> Result<Option<String>, Fault> {
    if let Some(text) = &text {
        check_filled(field, text)?;
    }
    Ok(text.map(|text| text.value))
}

fn seconds(field: &str, value: Option<Spanned<u32>>, default: u64) -> Result<Duration, Fault> {
    let seconds = at_least_one(field, value)?.map_or(default, u64::from);
    Ok(Duration::from_secs(seconds))
}

fn at_least_one(field: &str, value: Option<Spanned<u32>>) -> Result<Option<u32>, Fault> {
    match value {
        Some(number) if number.value == 0 => Err(Fault::at(
            number.referenced,
            format!("{field}: must be at least 1"),
        )),
        other => Ok(other.map(|number| number.value)),
    }
}

fn check_secret(name: &Spanned<String>) -> Result<(), Fault> {
    let text = &name.value;
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.');
    if !text.is_empty() && text.len() <= 253 && text.bytes().all(plain) {
        return Ok(());
    }
    let message = format!("pull_secrets: {text:?} cannot be the name of a secret");
    Err(Fault::at(name.referenced, message))
}

fn request(field: &str, value: Option<Spanned<String>>) -> Result<Option<String>, Fault> {
    let Some(text) = value else { return Ok(None) };
    if !quantity::is_positive(&text.value) {
        let message = format!(
            "{field}: {:?} is not a quantity such as 100m or 128Mi",
            text.value
        );
        return Err(Fault::at(text.referenced, message));
    }
    Ok(Some(text.value))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
