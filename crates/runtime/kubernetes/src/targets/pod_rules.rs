//! Reads pod rules and refuses whatever would undo the isolation of steps, with line and field.
//!
//! What a rule may set is a list of fields; everything else is refused by name. What is on the list
//! must also be what Kubernetes knows: a misspelt field deep inside an affinity would otherwise do
//! nothing.

mod containers;
mod metadata;
mod volumes;

use airside_config::Glob;
use airside_model::StepKind;
use k8s_openapi::api::core::v1::PodSpec;
use serde::Deserialize;
use serde_json::{Value, json};
use serde_saphyr::Spanned;

use super::{
    Privileged,
    file::{Fault, check_filled},
    located::{Located, Node},
};
use crate::pod::rules::{PodRule, RuleMatch};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleEntry {
    #[serde(rename = "match")]
    matching: Match,
    patch: Located,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Match {
    team: Spanned<String>,
    pipeline: Option<Spanned<String>>,
    job: Option<Spanned<String>>,
    step: Option<Spanned<String>>,
    #[serde(default)]
    tags: Vec<Spanned<String>>,
    kind: Option<Spanned<String>>,
    #[serde(rename = "type")]
    native_type: Option<Spanned<String>>,
}

impl RuleEntry {
    pub(super) fn check(self, privileged: Privileged) -> Result<PodRule, Fault> {
        Ok(PodRule {
            matching: self.matching.check()?,
            patch: check_patch(self.patch, privileged)?,
        })
    }
}

impl Match {
    fn check(self) -> Result<RuleMatch, Fault> {
        check_filled("pod_rules: match.team", &self.team)?;
        for tag in &self.tags {
            check_filled("pod_rules: match.tags", tag)?;
        }
        Ok(RuleMatch {
            team: self.team.value,
            pipeline: glob("pipeline", self.pipeline)?,
            job: glob("job", self.job)?,
            step: glob("step", self.step)?,
            tags: self.tags.into_iter().map(|tag| tag.value).collect(),
            kind: self.kind.map(kind).transpose()?,
            native_type: self.native_type.map(native_type).transpose()?,
        })
    }
}

fn kind(written: Spanned<String>) -> Result<StepKind, Fault> {
    let kind = serde_json::from_value(json!(written.value));
    kind.map_err(|_| {
        let message = format!(
            "pod_rules: match.kind: {:?} is not a kind of step; use get, put, check or task",
            written.value
        );
        Fault::at(written.referenced, message)
    })
}

/// Only native types are matched: a pipeline may call a type of its own as it likes.
fn native_type(written: Spanned<String>) -> Result<String, Fault> {
    if airside_resource_types::is_native(&written.value) {
        return Ok(written.value);
    }
    let message = format!(
        "pod_rules: match.type: {:?} is not a native resource type; these are {}",
        written.value,
        airside_resource_types::NATIVE.join(", ")
    );
    Err(Fault::at(written.referenced, message))
}

fn glob(field: &str, pattern: Option<Spanned<String>>) -> Result<Option<Glob>, Fault> {
    let Some(pattern) = pattern else {
        return Ok(None);
    };
    match Glob::new(&pattern.value) {
        Some(glob) if !pattern.value.is_empty() => Ok(Some(glob)),
        _ => {
            let message = format!(
                "pod_rules: match.{field}: {:?} is not a pattern; `*` stands for anything, and `\\` \
                 before a character for itself",
                pattern.value
            );
            Err(Fault::at(pattern.referenced, message))
        }
    }
}

/// Fields of a pod's spec that a rule may set.
const SPEC: &[&str] = &[
    "affinity",
    "automountServiceAccountToken",
    "containers",
    "dnsConfig",
    "dnsPolicy",
    "hostAliases",
    "imagePullSecrets",
    "initContainers",
    "nodeSelector",
    "priorityClassName",
    "resourceClaims",
    "runtimeClassName",
    "schedulerName",
    "serviceAccountName",
    "tolerations",
    "topologySpreadConstraints",
    "volumes",
];

fn check_patch(mut patch: Located, privileged: Privileged) -> Result<Value, Fault> {
    quantities(&mut patch, false);
    only(&patch, "", &["metadata", "spec"])?;
    if let Some(metadata) = patch.get("metadata") {
        metadata::check(metadata)?;
    }
    let mut value = patch.value();
    if let Some(spec) = patch.get("spec") {
        only(spec, "spec", SPEC)?;
        known(spec)?;
        check_account(spec)?;
        containers::check(spec, privileged)?;
        volumes::check(spec)?;
        // Who names an account wants its token.
        if spec.get("serviceAccountName").is_some()
            && spec.get("automountServiceAccountToken").is_none()
        {
            value["spec"]["automountServiceAccountToken"] = json!(true);
        }
    }
    Ok(value)
}

fn check_account(spec: &Located) -> Result<(), Fault> {
    match spec.get("automountServiceAccountToken") {
        Some(mount) if spec.get("serviceAccountName").is_none() => Err(Fault::at(
            mount.at,
            "pod_rules: spec.automountServiceAccountToken: name the account too \
             (serviceAccountName); that alone mounts its token",
        )),
        _ => Ok(()),
    }
}

/// Refuses what is not a map, and keys that are not on the list.
fn only(node: &Located, path: &str, allowed: &[&str]) -> Result<(), Fault> {
    let place = if path.is_empty() { "patch" } else { path };
    let Some(entries) = node.entries() else {
        let message = format!("pod_rules: {place}: must be a map, as in a pod");
        return Err(Fault::at(node.at, message));
    };
    for (key, _) in entries {
        if !allowed.contains(&key.name.as_str()) {
            let (name, allowed) = (&key.name, allowed.join(", "));
            let message = format!(
                "pod_rules: {place}: a rule may not set {name:?}; it may set {allowed}{}",
                hint(name)
            );
            return Err(Fault::at(key.at, message));
        }
    }
    Ok(())
}

/// Returns the advice for a field that no rule may set.
fn hint(field: &str) -> &'static str {
    match field {
        "hostUsers" => ". User namespaces are given up for a whole target, by its host_users",
        "hostNetwork" | "hostPID" | "hostIPC" | "shareProcessNamespace" => {
            ". What pods share with their node, or containers with each other, holds steps"
        }
        "command" | "args" | "image" | "env" => ". What runs in the step is the pipeline's to say",
        "securityContext" => {
            ". The target's own field privileged says what steps may do beyond the usual"
        }
        "terminationGracePeriodSeconds" => ". The target's own grace_period_seconds does",
        _ => "",
    }
}

fn items<'a>(list: &'a Located, path: &str) -> Result<&'a [Located], Fault> {
    list.items().ok_or_else(|| {
        let message = format!("pod_rules: {path}: must be a list, as in a pod");
        Fault::at(list.at, message)
    })
}

/// Kubernetes takes `nvidia.com/gpu: 1`; its types want text.
fn quantities(node: &mut Located, amounts: bool) {
    match &mut node.node {
        Node::Scalar(value) => {
            if let (true, Value::Number(number)) = (amounts, &value) {
                *value = Value::String(number.to_string());
            }
        }
        Node::List(items) => items.iter_mut().for_each(|item| quantities(item, false)),
        Node::Map(entries) => {
            for (key, value) in entries {
                let amounts =
                    amounts || matches!(key.name.as_str(), "requests" | "limits" | "sizeLimit");
                quantities(value, amounts);
            }
        }
    }
}

/// Every field must be one that Kubernetes has, and of its type.
fn known(spec: &Located) -> Result<(), Fault> {
    for (key, value) in spec.entries().unwrap_or_default() {
        let path = format!("spec.{}", key.name);
        let alone = json!({ key.name.as_str(): value.value() });
        let typed = serde_json::from_value::<PodSpec>(alone).and_then(serde_json::to_value);
        let typed = typed.map_err(|error| {
            Fault::at(
                value.at,
                format!("pod_rules: {path}: {}", airside_model::chain(&error)),
            )
        })?;
        kept(value, &typed[key.name.as_str()], &path)?;
    }
    Ok(())
}

/// Refuses fields that Kubernetes' types have dropped, because they do not know them.
fn kept(node: &Located, typed: &Value, path: &str) -> Result<(), Fault> {
    match &node.node {
        Node::Scalar(_) => Ok(()),
        Node::List(items) => {
            for (index, item) in items.iter().enumerate() {
                kept(item, &typed[index], &format!("{path}[{index}]"))?;
            }
            Ok(())
        }
        Node::Map(entries) => {
            for (key, value) in entries {
                let there = typed.get(&key.name);
                if there.is_none() && !is_empty(value) {
                    let message = format!("pod_rules: {path}: unknown field {:?}", key.name);
                    return Err(Fault::at(key.at, message));
                }
                if let Some(there) = there {
                    kept(value, there, &format!("{path}.{}", key.name))?;
                }
            }
            Ok(())
        }
    }
}

fn is_empty(node: &Located) -> bool {
    match &node.node {
        Node::Scalar(value) => value.is_null(),
        Node::List(items) => items.is_empty(),
        Node::Map(entries) => entries.is_empty(),
    }
}

#[cfg(test)]
mod tests;
