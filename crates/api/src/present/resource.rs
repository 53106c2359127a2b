//! Resources of a pipeline.

use airside_config::ResourceOutline;
use airside_store::{PipelineSummary, Resource};
use serde_json::{Value, json};

use super::Fields;

pub(crate) fn resource(pipeline: &PipelineSummary, resource: &Resource) -> Value {
    // What cannot be read is not shown.
    let outline: ResourceOutline = serde_json::from_str(&resource.outline).unwrap_or_default();
    let pin = resource.pin.as_ref();
    Fields::default()
        .with("name", resource.name.as_str())
        .with("pipeline_id", pipeline.id.0)
        .with("pipeline_name", pipeline.name.as_str())
        .maybe("pipeline_instance_vars", pipeline.instance_vars.to_value())
        .with("team_name", pipeline.team_name.as_str())
        .with("type", resource.type_.as_str())
        .maybe("icon", outline.icon)
        .maybe("pinned_version", json!(pin.map(|pin| &pin.version)))
        .maybe("pinned_in_config", pin.is_some_and(|pin| pin.in_config))
        .maybe("pin_comment", pin.map(|pin| pin.comment.as_str()))
        .done()
}
