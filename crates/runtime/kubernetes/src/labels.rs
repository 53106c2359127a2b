//! The labels and annotations of our pods. Labels are for selecting and obey label syntax; the
//! annotations of the same names carry what people wrote, unchanged.

use std::collections::BTreeMap;

use airside_model::{InstallationId, StepLabels, WorkerName};

pub(crate) const INSTALLATION: &str = "airside.dev/installation";
pub(crate) const WORKER: &str = "airside.dev/worker";
/// The name of the Secret that the pod's image is pulled with.
pub(crate) const PULL_SECRET: &str = "airside.dev/pull-secret";
/// A pod that looks at a node for this worker, and is none of its steps.
pub(crate) const PROBE: &str = "airside.dev/probe";
/// The purpose of a pod: the kind of its step, or [`LOOKS`].
pub(crate) const KIND: &str = "airside.dev/kind";
pub(crate) const LOOKS: &str = "probe";
/// Present once the step has ended and its pod only stays for people: [`KEPT`].
pub(crate) const STATE: &str = "airside.dev/state";
pub(crate) const KEPT: &str = "kept";
/// Annotation by which the cluster autoscaler knows whether it may remove the pod with its node.
pub(crate) const SAFE_TO_EVICT: &str = "cluster-autoscaler.kubernetes.io/safe-to-evict";
/// Key of the mechanism that keeps the pod off the network: [`HELD`], a NetworkPolicy.
pub(crate) const NETWORK: &str = "airside.dev/network";
pub(crate) const HELD: &str = "held";
pub(crate) const SPEC_HASH: &str = "airside.dev/spec-hash";

/// The domain of our keys.
pub(crate) const DOMAIN: &str = "airside.dev";

const MAX_VALUE_BYTES: usize = 63;

/// Selects every pod of one installation on one worker.
pub(crate) fn selector(installation: &InstallationId, worker: &WorkerName) -> String {
    format!("{INSTALLATION}={installation},{WORKER}={worker}")
}

/// Returns true if a text may be a label's value as it is. A value that pods are selected by must
/// be, or two of them could look the same.
pub(crate) fn is_value(text: &str) -> bool {
    !text.is_empty() && value(text) == text
}

/// The closest label value to a text; empty if nothing of it may stay.
pub(crate) fn value(text: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let replaced: String = text
        .chars()
        .map(|c| if allowed(c) { c } else { '_' })
        .collect();
    let edge = |c: char| !c.is_ascii_alphanumeric();
    let trimmed = replaced.trim_start_matches(edge);
    // Every character is one byte by now, so cutting cannot split one.
    trimmed[..trimmed.len().min(MAX_VALUE_BYTES)]
        .trim_end_matches(edge)
        .to_owned()
}

/// The pod's labels; a name of which no label can be made has only its annotation.
pub(crate) fn labels(
    installation: &InstallationId,
    worker: &WorkerName,
    step: &StepLabels,
) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::from([
        (INSTALLATION.to_owned(), installation.to_string()),
        (WORKER.to_owned(), worker.to_string()),
    ]);
    for (key, text) in names(step) {
        let value = value(&text);
        if !value.is_empty() {
            labels.insert(format!("airside.dev/{key}"), value);
        }
    }
    labels
}

/// Returns the names of a step in full, which labels may shorten.
pub(crate) fn annotations(step: &StepLabels) -> BTreeMap<String, String> {
    let mut annotations: BTreeMap<String, String> = names(step)
        .into_iter()
        .map(|(key, text)| (format!("airside.dev/{key}"), text))
        .collect();
    annotations.insert("airside.dev/build-name".to_owned(), step.build_name.clone());
    annotations
}

fn names(step: &StepLabels) -> Vec<(&'static str, String)> {
    let mut names = vec![("team", step.team.clone())];
    names.extend(step.pipeline.clone().map(|name| ("pipeline", name)));
    names.extend(step.job.clone().map(|name| ("job", name)));
    names.extend([
        ("build", step.build.to_string()),
        ("step", step.step.clone()),
        ("attempt", step.attempt.to_string()),
        ("kind", step.kind.to_string()),
    ]);
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_obey_label_syntax() {
        for (text, expected) in [
            ("unit", "unit"),
            ("a b/c", "a_b_c"),
            ("größe", "gr__e"),
            ("--edges--", "edges"),
            ("日本", ""),
            ("", ""),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
        assert_eq!(value(&"x".repeat(80)).len(), 63);
        assert_eq!(value(&format!("{}-tail", "x".repeat(62))), "x".repeat(62));
    }

    #[test]
    fn only_unchanged_texts_may_be_selected_by() {
        for (text, expected) in [
            ("a-1.b_c", true),
            ("", false),
            ("a b", false),
            ("-a", false),
        ] {
            assert_eq!(is_value(text), expected, "{text}");
        }
        assert!(!is_value(&"x".repeat(64)));
    }
}
