//! Pod rules: what the target's owner changes about the pods of some steps, without touching
//! pipelines.
//!
//! A rule's patch was checked when the targets file was read (`targets/pod_rules.rs`), so that
//! nothing in it can undo what holds a step. Here it is only merged, the way Kubernetes merges such
//! patches: maps key by key, containers and volumes by their names, everything else as a whole.

use airside_config::Glob;
use airside_model::StepKind;
use airside_runtime::{Error, PlacementSpec};
use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;

use super::refused;

/// One rule of the file. All that match a step apply, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodRule {
    pub(crate) matching: RuleMatch,
    /// A part of a pod.
    pub(crate) patch: Value,
}

/// The steps that a rule is for. What is absent matches everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RuleMatch {
    pub(crate) team: String,
    pub(crate) pipeline: Option<Glob>,
    pub(crate) job: Option<Glob>,
    pub(crate) step: Option<Glob>,
    /// All of them are among the step's.
    pub(crate) tags: Vec<String>,
    pub(crate) kind: Option<StepKind>,
    /// A native resource type.
    pub(crate) native_type: Option<String>,
}

impl RuleMatch {
    fn fits(&self, spec: &PlacementSpec) -> bool {
        let named = |glob: &Option<Glob>, name: Option<&str>| match glob {
            None => true,
            Some(glob) => name.is_some_and(|name| glob.matches(name)),
        };
        let step = &spec.labels;
        let is_step_matched = if is_shared_checker(spec) {
            self.pipeline.is_none() && self.job.is_none() && self.step.is_none()
        } else {
            named(&self.pipeline, step.pipeline.as_deref())
                && named(&self.job, step.job.as_deref())
                && named(&self.step, Some(&step.step))
        };
        let native_type = self.native_type.as_ref();
        self.team == step.team
            && is_step_matched
            && self.kind.is_none_or(|kind| kind == step.kind)
            && native_type.is_none_or(|type_| spec.native_type.as_ref() == Some(type_))
            && self.tags.iter().all(|tag| spec.tags.contains(tag))
    }
}

/// Returns true for a pod in which all checks of one native type of a team run. Its labels name the
/// resource that came first, so that a rule for some pipelines would hold for all of them.
fn is_shared_checker(spec: &PlacementSpec) -> bool {
    spec.labels.kind == StepKind::Check && spec.native_type.is_some()
}

/// The pod as the rules want it.
pub(super) fn apply(pod: Pod, spec: &PlacementSpec, rules: &[PodRule]) -> Result<Pod, Error> {
    let mut fitting = rules
        .iter()
        .filter(|rule| rule.matching.fits(spec))
        .peekable();
    if fitting.peek().is_none() {
        return Ok(pod);
    }
    let odd = |error| {
        refused(format!(
            "the pod rules for this step make no pod: {}",
            airside_model::chain(&error)
        ))
    };
    let mut whole = serde_json::to_value(pod).map_err(odd)?;
    for rule in fitting {
        merge(&mut whole, rule.patch.clone(), "");
    }
    serde_json::from_value(whole).map_err(odd)
}

/// Returns the field by which the items of a list are told apart.
fn merge_key(list: &str) -> Option<&'static str> {
    match list {
        "containers" | "initContainers" | "volumes" | "env" | "imagePullSecrets"
        | "resourceClaims" | "claims" => Some("name"),
        "volumeMounts" => Some("mountPath"),
        "hostAliases" => Some("ip"),
        _ => None,
    }
}

/// Lists whose items have no name and only ever allow more, or spread further.
const APPENDED: &[&str] = &["tolerations", "topologySpreadConstraints"];

fn merge(base: &mut Value, patch: Value, field: &str) {
    match (base, patch) {
        (Value::Object(base), Value::Object(patch)) => {
            for (key, value) in patch {
                match base.get_mut(&key) {
                    Some(there) => merge(there, value, &key),
                    None => {
                        base.insert(key, value);
                    }
                }
            }
        }
        (Value::Array(base), Value::Array(patch)) if APPENDED.contains(&field) => {
            base.extend(patch);
        }
        (Value::Array(base), Value::Array(patch)) if merge_key(field).is_some() => {
            let key = merge_key(field).unwrap_or_default();
            for item in patch {
                let same = |there: &&mut Value| there.get(key) == item.get(key);
                match base.iter_mut().find(same) {
                    Some(there) => merge(there, item, ""),
                    None => base.push(item),
                }
            }
        }
        (base, patch) => *base = patch,
    }
}

#[cfg(test)]
mod tests;
