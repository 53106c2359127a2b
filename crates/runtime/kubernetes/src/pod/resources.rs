//! Requests and limits. Every pod gets requests, so that none is of the class that is evicted first
//! and a kept one can be resized; none gets a CPU limit, which would only throttle it.

use std::collections::BTreeMap;

use airside_model::task::ContainerLimits;
use k8s_openapi::{
    api::core::v1::ResourceRequirements, apimachinery::pkg::api::resource::Quantity,
};

use crate::targets::DefaultRequests;

/// CPU shares that make one core.
const SHARES: u64 = 1024;

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
