//! Requests and limits. Every pod gets requests, so that none is of the class that is evicted first
//! and a kept one can be resized; none gets a CPU limit, which would only throttle it.

use std::collections::BTreeMap;

use airside_model::{StepKind, task::ContainerLimits};
use airside_runtime::PlacementSpec;
use k8s_openapi::{
    api::core::v1::ResourceRequirements, apimachinery::pkg::api::resource::Quantity,
};

use crate::targets::DefaultRequests;

/// CPU shares that make one core.
const SHARES: u64 = 1024;

/// Returns the requests of a step without limits of its own. A put of a native type moves bytes or
/// waits for another program: it gets less than the built-in default, unless the target names a
/// default.
pub(super) fn defaults(spec: &PlacementSpec, of_target: &DefaultRequests) -> DefaultRequests {
    let is_native_put = spec.labels.kind == StepKind::Put && spec.native_type.is_some();
    if is_native_put && *of_target == DefaultRequests::default() {
        return DefaultRequests {
            cpu: "10m".to_owned(),
            memory: "32Mi".to_owned(),
        };
    }
    of_target.clone()
}

pub(super) fn requirements(
    limits: &ContainerLimits,
    defaults: &DefaultRequests,
) -> ResourceRequirements {
    let memory_limit = limits
        .memory
        .filter(|bytes| *bytes > 0)
        .map(|bytes| bytes.to_string());
    let cpu = limits.cpu.filter(|shares| *shares > 0).map(millicores);
    let memory = memory_limit
        .clone()
        .unwrap_or_else(|| defaults.memory.clone());
    let requests = BTreeMap::from([
        (
            "cpu".to_owned(),
            Quantity(cpu.unwrap_or_else(|| defaults.cpu.clone())),
        ),
        ("memory".to_owned(), Quantity(memory)),
    ]);
    ResourceRequirements {
        requests: Some(requests),
        limits: memory_limit.map(|limit| BTreeMap::from([("memory".to_owned(), Quantity(limit))])),
        claims: None,
    }
}

fn millicores(shares: u64) -> String {
    format!("{}m", (shares.saturating_mul(1000) / SHARES).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(cpu: Option<u64>, memory: Option<u64>) -> String {
        let limits = ContainerLimits { cpu, memory };
        serde_json::to_string(&requirements(&limits, &DefaultRequests::default())).unwrap()
    }

    #[test]
    fn a_native_put_asks_for_little_unless_the_target_says_otherwise() {
        let cpu = |kind: StepKind, native_type: Option<&str>, defaults: &DefaultRequests| {
            let mut spec = crate::pod::tests::spec();
            spec.labels.kind = kind;
            spec.native_type = native_type.map(str::to_owned);
            super::defaults(&spec, defaults).cpu
        };
        let usual = DefaultRequests::default();
        let own = DefaultRequests {
            cpu: "2".to_owned(),
            ..usual.clone()
        };
        assert_eq!(cpu(StepKind::Put, Some("kubernetes"), &usual), "10m");
        assert_eq!(cpu(StepKind::Put, Some("kubernetes"), &own), "2");
        assert_eq!(cpu(StepKind::Put, None, &usual), "100m");
        assert_eq!(cpu(StepKind::Get, Some("git"), &usual), "100m");
    }

    #[test]
    fn limits_become_requests() {
        assert_eq!(
            check(None, None),
            r#"{"requests":{"cpu":"100m","memory":"128Mi"}}"#
        );
        assert_eq!(
            check(Some(512), None),
            r#"{"requests":{"cpu":"500m","memory":"128Mi"}}"#
        );
        assert_eq!(
            check(Some(1), Some(0)),
            r#"{"requests":{"cpu":"1m","memory":"128Mi"}}"#
        );
        assert_eq!(
            check(Some(2048), Some(1 << 30)),
            r#"{"limits":{"memory":"1073741824"},"requests":{"cpu":"2000m","memory":"1073741824"}}"#
        );
    }
}
