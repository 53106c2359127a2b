//! Shortages that a pod meets. Kubernetes names them in messages alone: this file reads those
//! messages, and no other code does.

use std::collections::BTreeMap;

use airside_runtime::Shortage;

use super::{PodShare, held::Amounts};
use crate::targets::quantity::thousandths;

/// One whole, in thousandths.
const ONE: i128 = 1000;

/// Reads a refusal by a quota: `… exceeded quota: few, requested: pods=1, used: pods=3, limited:
/// pods=3`.
pub(crate) fn quota_shortage(message: &str) -> Option<Shortage> {
    let (_, quota) = message.split_once("exceeded quota:")?;
    read_quota(quota)
}

/// Reads the scheduler's message about a pod without a node: `0/2 nodes are available: 2
/// Insufficient cpu.`
pub(crate) fn node_shortage(message: &str) -> Option<Shortage> {
    let (_, nodes) = message.split_once("nodes are available:")?;
    // Further sentences are about claims, and about what preemption would bring.
    read_nodes(nodes.split(". ").next().unwrap_or_default())
}

/// Returns true if pods that ask for less processor and memory would help.
pub(super) fn can_be_shrunk_away(shortage: &Shortage) -> bool {
    let shrinks = |name: &str| matches!(name.trim_start_matches("requests."), "cpu" | "memory");
    match shortage {
        Shortage::Pods | Shortage::Never => false,
        Shortage::Quota(needed) => needed.keys().any(|name| shrinks(name)),
        Shortage::Nodes { resources, .. } => resources.iter().any(|name| shrinks(name)),
    }
}

/// Returns true if a step finds room once these pods are gone.
pub(super) fn is_met_by(shortage: &Shortage, wanted: &PodShare, freed: &[&PodShare]) -> bool {
    let count = ONE * i128::try_from(freed.len()).unwrap_or(i128::MAX / ONE);
    match shortage {
        Shortage::Never => false,
        Shortage::Pods => count >= ONE,
        Shortage::Quota(needed) => needed.iter().all(|(name, amount)| match name.as_str() {
            "pods" | "count/pods" => count >= i128::from(*amount),
            name => {
                let sum: i128 = freed.iter().map(|it| counted(it, name)).sum();
                sum >= i128::from(*amount)
            }
        }),
        Shortage::Nodes { resources, pods } => {
            let of = |held: &PodShare, name: &String| {
                held.requests.get(name).copied().unwrap_or_default()
            };
            let enough = |name: &String| {
                freed.iter().map(|it| of(it, name)).sum::<i128>() >= of(wanted, name)
            };
            (!pods || count >= ONE) && resources.iter().all(enough)
        }
    }
}

/// Returns what a pod counts for in a quota, under the quota's name for it.
fn counted(held: &PodShare, name: &str) -> i128 {
    let amounts = match name.split_once('.') {
        Some(("limits", rest)) => held.limits.get(rest),
        Some(("requests", rest)) => held.requests.get(rest),
        _ => held.requests.get(name),
    };
    amounts.copied().unwrap_or_default()
}

/// Reads ` few, requested: pods=1, used: pods=3, limited: pods=3`.
fn read_quota(text: &str) -> Option<Shortage> {
    let part = |word: &str| {
        let (_, rest) = text.split_once(word)?;
        let end = rest.find(": ").and_then(|colon| rest[..colon].rfind(", "));
        Some(amounts(&rest[..end.unwrap_or(rest.len())]))
    };
    let (requested, used, limited) = (part("requested: ")?, part("used: ")?, part("limited: ")?);
    let mut needed = BTreeMap::new();
    for (name, amount) in &requested {
        let limit = limited.get(name).copied().unwrap_or_default();
        if *amount > limit {
            return Some(Shortage::Never);
        }
        let over = used.get(name).copied().unwrap_or_default() + amount - limit;
        let over = i64::try_from(over.max(0)).unwrap_or(i64::MAX);
        needed.insert(name.clone(), over);
    }
    (!needed.is_empty()).then_some(Shortage::Quota(needed))
}

/// Reads `pods=1,requests.cpu=100m`.
fn amounts(text: &str) -> Amounts {
    let pairs = text.split(',').filter_map(|pair| {
        let (name, amount) = pair.trim().split_once('=')?;
        let amount = amount
            .split_whitespace()
            .next()?
            .trim_end_matches([';', '.']);
        Some((name.to_owned(), thousandths(amount)?))
    });
    pairs.collect()
}

/// Reads ` 1 Insufficient cpu, 2 Too many pods.`
fn read_nodes(text: &str) -> Option<Shortage> {
    let (mut resources, mut crowded, mut short) = (Vec::new(), 0, 0);
    for item in text.split(", ") {
        let item = item.trim().trim_end_matches('.');
        let Some((count, what)) = item.split_once(' ') else {
            continue;
        };
        let count: u32 = count.parse().unwrap_or(1);
        if what == "Too many pods" {
            crowded = count;
        } else if let Some(resource) = what.strip_prefix("Insufficient ") {
            short = short.max(count);
            resources.push(resource.to_owned());
        }
    }
    // More nodes are crowded than are short of anything: on one of them a pod less is enough.
    if crowded > short {
        resources.clear();
    }
    let pods = crowded > 0;
    (pods || !resources.is_empty()).then_some(Shortage::Nodes { resources, pods })
}
