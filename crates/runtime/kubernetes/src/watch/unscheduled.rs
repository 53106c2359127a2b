//! Pods that no scheduler has looked at. Kubernetes says nothing about them, so only time tells
//! that they wait.

use std::{collections::HashMap, time::Duration};

use airside_model::Handle;
use k8s_openapi::api::core::v1::Pod;
use parking_lot::Mutex;
use tokio::time::Instant;

/// A scheduler looks at a pod within milliseconds.
const SCHEDULER_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval between two searches for pods that have waited for this time.
pub(super) const UNSCHEDULED_INTERVAL: Duration = Duration::from_secs(5);

/// Since when each of them has been seen so.
#[derive(Default)]
pub(super) struct Unscheduled(Mutex<HashMap<Handle, Instant>>);

impl Unscheduled {
    pub(super) fn note(&self, handle: &Handle, pod: &Pod, now: Instant) {
        let mut waiting = self.0.lock();
        if is_unscheduled(pod) {
            waiting.entry(handle.clone()).or_insert(now);
        } else {
            waiting.remove(handle);
        }
    }

    /// Returns the pods whose time is over, each once.
    pub(super) fn overdue(&self, now: Instant) -> Vec<Handle> {
        let mut waiting = self.0.lock();
        let late =
            |_: &Handle, since: &mut Instant| now.duration_since(*since) >= SCHEDULER_TIMEOUT;
        waiting.extract_if(late).map(|(handle, _)| handle).collect()
    }
}

pub(super) fn words() -> String {
    let seconds = SCHEDULER_TIMEOUT.as_secs();
    format!("no node takes the pod yet: no scheduler has looked at the pod for {seconds} s")
}

/// Returns true if the pod has no node, and no word from a scheduler.
fn is_unscheduled(pod: &Pod) -> bool {
    let has_node = (pod.spec.as_ref()).is_some_and(|spec| spec.node_name.is_some());
    let conditions = pod
        .status
        .iter()
        .flat_map(|it| it.conditions.iter().flatten());
    let mut judged = conditions.filter(|it| it.type_ == "PodScheduled");
    !has_node && judged.next().is_none() && pod.metadata.deletion_timestamp.is_none()
}
