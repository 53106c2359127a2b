//! Pods of which Kubernetes says nothing while they wait: for a scheduler to look at them, and for
//! a node to create their containers. Only time tells that they wait.

use std::{collections::HashMap, time::Duration};

use airside_model::Handle;
use airside_runtime::{Cause, Observed};
use k8s_openapi::api::core::v1::Pod;
use parking_lot::Mutex;
use tokio::time::Instant;

/// A scheduler looks at a pod within milliseconds.
const SCHEDULER_TIMEOUT: Duration = Duration::from_secs(10);
/// Time after which a container that is being created is worth a line: its image is pulled, or a
/// volume is mounted, and the pod says neither.
const CREATION_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval between two searches for pods whose time is over.
pub(super) const LATE_INTERVAL: Duration = Duration::from_secs(1);

/// Something that a pod waits for in silence.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SilentWait {
    Scheduler,
    Node(String),
}

impl SilentWait {
    /// Returns the wait of a pod that has no words of its own.
    fn of(pod: &Pod) -> Option<Self> {
        if pod.metadata.deletion_timestamp.is_some() {
            return None;
        }
        if let Some(node) = pod.spec.as_ref().and_then(|spec| spec.node_name.as_ref()) {
            return Some(Self::Node(node.clone()));
        }
        let conditions = pod
            .status
            .iter()
            .flat_map(|it| it.conditions.iter().flatten());
        let mut judged = conditions.filter(|it| it.type_ == "PodScheduled");
        judged.next().is_none().then_some(Self::Scheduler)
    }

    fn timeout(&self) -> Duration {
        match self {
            Self::Scheduler => SCHEDULER_TIMEOUT,
            Self::Node(_) => CREATION_TIMEOUT,
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Scheduler => {
                let seconds = SCHEDULER_TIMEOUT.as_secs();
                format!(
                    "no node takes the pod yet: no scheduler has looked at the pod for {seconds} s"
                )
            }
            Self::Node(node) => format!("the container is being created on node {node}"),
        }
    }
}

struct LatePod {
    wait: SilentWait,
    since: Instant,
    is_told: bool,
}

/// The pods that wait in silence, and since when each has been seen so.
#[derive(Default)]
pub(super) struct LatePods(Mutex<HashMap<Handle, LatePod>>);

impl LatePods {
    /// Notes a pod and the state that it shows. Returns that state, with words if it has waited for
    /// so long that they were told before.
    pub(super) fn note(
        &self,
        handle: &Handle,
        pod: &Pod,
        observed: Observed,
        now: Instant,
    ) -> Observed {
        let mut late = self.0.lock();
        let wait = SilentWait::of(pod).filter(|_| observed == Observed::pending());
        let Some(wait) = wait else {
            late.remove(handle);
            return observed;
        };
        match late.get(handle) {
            Some(known) if known.wait == wait => {
                if known.is_told {
                    return pending(&wait);
                }
            }
            _ => {
                let (since, is_told) = (now, false);
                let known = LatePod {
                    wait,
                    since,
                    is_told,
                };
                late.insert(handle.clone(), known);
            }
        }
        observed
    }

    /// Forgets pods that are not there any more.
    pub(super) fn retain(&self, is_there: impl Fn(&Handle) -> bool) {
        self.0.lock().retain(|handle, _| is_there(handle));
    }

    /// Returns the pods whose time is over, each once, with the state to show.
    pub(super) fn overdue(&self, now: Instant) -> Vec<(Handle, Observed)> {
        let mut late = self.0.lock();
        let over = late
            .iter_mut()
            .filter(|(_, it)| !it.is_told && now.duration_since(it.since) >= it.wait.timeout());
        over.map(|(handle, it)| {
            it.is_told = true;
            (handle.clone(), pending(&it.wait))
        })
        .collect()
    }
}

fn pending(wait: &SilentWait) -> Observed {
    Observed::Pending {
        reason: wait.words(),
        cause: Cause::Other,
    }
}
