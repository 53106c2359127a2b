//! The autoscaler of replicas that share a bucket.

use airside_kube_objects::meta;
use k8s_openapi::api::autoscaling::v2::{
    CrossVersionObjectReference, HPAScalingPolicy, HPAScalingRules, HorizontalPodAutoscaler,
    HorizontalPodAutoscalerBehavior, HorizontalPodAutoscalerSpec, MetricSpec, MetricTarget,
    ResourceMetricSource,
};

/// Comment above the autoscaler.
pub(super) const COMMENT: &str = "\
Replicas come at once: a wave of pulls is over in a minute or two. They go slowly: the next wave
is often the next step of a roll-out.";

pub(super) fn autoscaler(
    namespace: &str,
    name: &str,
    least: u32,
    most: u32,
) -> HorizontalPodAutoscaler {
    let (least, most) = (replicas(least), replicas(most));
    let cpu = MetricSpec {
        type_: "Resource".to_owned(),
        resource: Some(ResourceMetricSource {
            name: "cpu".to_owned(),
            target: MetricTarget {
                type_: "Utilization".to_owned(),
                average_utilization: Some(200),
                ..MetricTarget::default()
            },
        }),
        ..MetricSpec::default()
    };
    HorizontalPodAutoscaler {
        metadata: meta::namespaced(namespace, name),
        spec: HorizontalPodAutoscalerSpec {
            scale_target_ref: CrossVersionObjectReference {
                api_version: Some("apps/v1".to_owned()),
                kind: "Deployment".to_owned(),
                name: name.to_owned(),
            },
            min_replicas: Some(least),
            max_replicas: most,
            metrics: Some(vec![cpu]),
            behavior: Some(HorizontalPodAutoscalerBehavior {
                scale_up: Some(pods_within(most, 15, 0)),
                scale_down: Some(pods_within(1, 60, 300)),
            }),
        },
        ..HorizontalPodAutoscaler::default()
    }
}

fn replicas(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// Changes the replicas by at most `pods` in each period, after a window of unchanged load.
fn pods_within(pods: i32, period_seconds: i32, window_seconds: i32) -> HPAScalingRules {
    HPAScalingRules {
        stabilization_window_seconds: Some(window_seconds),
        policies: Some(vec![HPAScalingPolicy {
            type_: "Pods".to_owned(),
            value: pods,
            period_seconds,
        }]),
        ..HPAScalingRules::default()
    }
}
