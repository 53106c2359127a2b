//! Placement targets.

use airside_store::Worker;
use serde_json::{Value, json};

use crate::WORKER_VERSION;

/// What needs no image on any worker.
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
    airside_resources::NATIVE.iter().map(shown).collect()
}

/// A placement target has no address and speaks no worker protocol; `fly` wants the fields anyway.
pub(crate) fn worker(worker: &Worker) -> Value {
    json!({
        "addr": "",
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
        "state": worker.state.as_str(),
    })
}
