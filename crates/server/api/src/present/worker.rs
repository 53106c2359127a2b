//! Placement targets.

use airside_model::WorkerState;
use airside_store::Worker;
use serde_json::{Value, json};

use crate::{WORKER_VERSION, WorkerCondition};

/// Returns the resource types that need no image on any worker.
fn resource_types() -> Vec<Value> {
    let shown = |type_: &&str| {
        json!({
            "type": type_,
            "image": "",
            "version": "",
            "privileged": false,
            "unique_version_history": false,
        })
    };
    airside_resource_types::NATIVE.iter().map(shown).collect()
}

/// Returns the worker's state as users see it: the wanted one, unless its condition is not known.
pub(crate) fn state(worker: &Worker, condition: &WorkerCondition) -> WorkerState {
    match worker.state {
        WorkerState::Running if condition.stalled => WorkerState::Stalled,
        told => told,
    }
}

/// A placement target has no address and speaks no worker protocol; `fly` wants the fields anyway.
/// It shows the first with `workers -d`, so that is where people read what a worker lacks.
pub(crate) fn worker(worker: &Worker, condition: &WorkerCondition) -> Value {
    json!({
        "addr": condition.lacks.join("; "),
        "baggageclaim_url": "",
        "active_containers": worker.active_containers,
        "active_volumes": 0,
        "active_tasks": 0,
        "max_active_tasks": 0,
        "resource_types": resource_types(),
        "platform": worker.platform,
        "tags": worker.tags,
        "team": worker.team.as_deref().unwrap_or_default(),
        "name": worker.name.as_str(),
        "version": WORKER_VERSION,
        "start_time": worker.started_at.seconds(),
        "ephemeral": false,
        "state": state(worker, condition).as_str(),
    })
}

#[cfg(test)]
mod tests {
    use airside_model::WorkerName;
    use airside_store::{Micros, WorkerKind};

    use super::*;

    #[test]
    fn what_a_worker_lacks_is_where_fly_shows_it() {
        let mut pods = Worker {
            name: WorkerName::new("pods"),
            state: WorkerState::Running,
            team: None,
            tags: Vec::new(),
            platform: "linux".to_owned(),
            kind: WorkerKind::Kubernetes,
            started_at: Micros(0),
            active_containers: 0,
        };
        let well = worker(&pods, &WorkerCondition::default());
        assert_eq!(
            (&well["addr"], &well["state"]),
            (&json!(""), &json!("running"))
        );
        let condition = WorkerCondition {
            stalled: true,
            lacks: vec!["one thing".to_owned(), "another".to_owned()],
        };
        let ill = worker(&pods, &condition);
        assert_eq!(ill["addr"], "one thing; another");
        assert_eq!(ill["state"], "stalled");
        pods.state = WorkerState::Landed;
        assert_eq!(worker(&pods, &condition)["state"], "landed");
    }
}
