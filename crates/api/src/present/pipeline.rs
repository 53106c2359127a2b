//! Pipelines.

use airside_store::Pipeline;
use serde_json::Value;

use super::Fields;

pub(crate) fn pipeline(pipeline: &Pipeline) -> Value {
    Fields::default()
        .with("id", pipeline.id.0)
        .with("name", pipeline.name.as_str())
        .with("paused", pipeline.paused)
        .with("public", pipeline.public)
        .with("archived", pipeline.archived)
        .maybe("groups", pipeline.config["groups"].clone())
        .with("team_name", pipeline.team_name.as_str())
        .maybe("display", pipeline.config["display"].clone())
        .with("last_updated", pipeline.updated_at.seconds())
        .done()
}
