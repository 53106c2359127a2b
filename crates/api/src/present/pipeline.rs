//! Pipelines.

use airside_store::{Micros, PipelineSummary};
use serde_json::Value;

use super::Fields;

pub(crate) fn pipeline(pipeline: &PipelineSummary) -> Value {
    Fields::default()
        .with("id", pipeline.id.0)
        .with("name", pipeline.name.as_str())
        .maybe("instance_vars", pipeline.instance_vars.to_value())
        .with("paused", pipeline.paused)
        .maybe("paused_by", pipeline.paused_by.as_deref())
        .maybe("paused_at", pipeline.paused_at.map(Micros::seconds))
        .with("public", pipeline.public)
        .with("archived", pipeline.archived)
        .maybe("groups", pipeline.groups.clone())
        .with("team_name", pipeline.team_name.as_str())
        .maybe("display", pipeline.display.clone())
        .with("last_updated", pipeline.updated_at.seconds())
        .done()
}
