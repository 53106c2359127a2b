//! Resources of a pipeline.

use airside_config::ResourceOutline;
use airside_store::{PipelineSummary, Resource};
use serde_json::{Value, json};

use super::Fields;

pub(crate) fn resource(pipeline: &PipelineSummary, resource: &Resource) -> Value {
    // What cannot be read is not shown.
    let outline: ResourceOutline = serde_json::from_str(&resource.outline).unwrap_or_default();
    Fields::default()
        .with("name", resource.name.as_str())
        .with("pipeline_id", pipeline.id.0)
        .with("pipeline_name", pipeline.name.as_str())
        .maybe("pipeline_instance_vars", pipeline.instance_vars.to_value())
        .with("team_name", pipeline.team_name.as_str())
        .with("type", resource.type_.as_str())
        .maybe("icon", outline.icon)
        .maybe("pinned_in_config", outline.version.is_some())
        .maybe("pinned_version", json!(outline.version))
        .done()
}
