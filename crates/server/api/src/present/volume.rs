//! Volumes. All of them are of a step, or were uploaded.

use airside_store::TeamVolume;
use serde_json::{Value, json};

pub(crate) fn volume(volume: &TeamVolume, worker: &str) -> Value {
    let kind = match volume.handle {
        Some(_) => "container",
        None => "artifact",
    };
    json!({
        "id": volume.id,
        "worker_name": volume.worker.as_ref().map_or(worker, |name| name.as_str()),
        "type": kind,
        "container_handle": volume.handle.as_ref().map_or("", |handle| handle.as_str()),
        "path": volume.path,
        "parent_handle": "",
        "resource_type": null,
        "base_resource_type": null,
        "pipeline_id": 0,
        "pipeline_name": "",
        "pipeline_instance_vars": null,
        "job_name": "",
        "step_name": "",
    })
}
