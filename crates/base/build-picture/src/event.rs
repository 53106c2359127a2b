//! Events on the wire, read as leniently as `fly` reads them.

use airside_model::{BuildStatus, MetadataField, Version};
use serde::Deserialize;
use serde_json::Value;

/// An event's envelope, as a log has it.
#[derive(Deserialize)]
pub(crate) struct WireEvent {
    pub(crate) event: String,
    pub(crate) data: Value,
}

/// The fields that any event may have. An event that lacks one has it empty.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct EventData {
    pub(crate) time: i64,
    pub(crate) origin: EventOrigin,
    pub(crate) status: Option<BuildStatus>,
    pub(crate) message: String,
    pub(crate) exit_status: i32,
    pub(crate) succeeded: bool,
    pub(crate) changed: bool,
    pub(crate) version: Option<Version>,
    pub(crate) metadata: Option<Vec<MetadataField>>,
    pub(crate) selected_worker: String,
    pub(crate) plan: Value,
    pub(crate) substeps: Vec<AcrossSubstep>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct EventOrigin {
    pub(crate) id: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct AcrossSubstep {
    pub(crate) step: Value,
    pub(crate) values: Vec<Value>,
}
