//! Selection of nodes by sets: the one place that decides it, for the operator, agents and
//! admission.

use k8s_openapi::{
    api::core::v1::{Node, Taint, Toleration},
    apimachinery::pkg::apis::meta::v1::LabelSelectorRequirement,
};

use crate::ImageSetSpec;

/// Returns the platform of a node as images name it: `linux/amd64`.
pub fn platform(node: &Node) -> Option<String> {
    let info = node.status.as_ref()?.node_info.as_ref()?;
    Some(format!("{}/{}", info.operating_system, info.architecture))
}

/// Returns true if images of the set belong on the node.
pub fn selects(set: &ImageSetSpec, node: &Node) -> bool {
    let labels = node.metadata.labels.as_ref();
    let label = |key: &str| {
        labels
            .and_then(|labels| labels.get(key))
            .map(String::as_str)
    };
    let choice = &set.nodes;
    choice
        .match_labels
        .iter()
        .all(|(key, value)| label(key) == Some(value))
        && choice
            .match_expressions
            .iter()
            .all(|wanted| fits(wanted, label(&wanted.key)))
        && taints(node).all(|taint| {
            choice
                .tolerations
                .iter()
                .any(|toleration| tolerates(toleration, taint))
        })
        && is_of_platform(set, node)
}

fn is_of_platform(set: &ImageSetSpec, node: &Node) -> bool {
    if set.platforms.is_empty() {
        return true;
    }
    // A variant says more than a node does; its architecture is what can be compared.
    let bare = |wanted: &String| wanted.splitn(3, '/').take(2).collect::<Vec<_>>().join("/");
    platform(node)
        .is_some_and(|platform| set.platforms.iter().any(|wanted| bare(wanted) == platform))
}

fn fits(wanted: &LabelSelectorRequirement, label: Option<&str>) -> bool {
    let values = wanted.values.as_deref().unwrap_or_default();
    let is_listed = label.is_some_and(|label| values.iter().any(|value| value == label));
    match wanted.operator.as_str() {
        "In" => is_listed,
        "NotIn" => !is_listed,
        "Exists" => label.is_some(),
        "DoesNotExist" => label.is_none(),
        _ => false,
    }
}

/// Returns the taints that keep pods away. Taints that Kubernetes puts on nodes in trouble do not
/// count: a node that is not ready for a minute would lose its images' labels.
fn taints(node: &Node) -> impl Iterator<Item = &Taint> {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    taints
        .into_iter()
        .flatten()
        .filter(|taint| matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute"))
        .filter(|taint| !taint.key.starts_with("node.kubernetes.io/"))
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let same = |given: &Option<String>, text: &str| {
        given
            .as_deref()
            .is_none_or(|given| given.is_empty() || given == text)
    };
    let is_key = same(&toleration.key, &taint.key);
    let is_value = match toleration.operator.as_deref() {
        Some("Exists") => true,
        _ => {
            toleration.key.is_some()
                && toleration.value.as_deref().unwrap_or_default()
                    == taint.value.as_deref().unwrap_or_default()
        }
    };
    is_key && is_value && same(&toleration.effect, &taint.effect)
}

#[cfg(test)]
mod tests;
