//! Resources of a pipeline.

use airside_store::{Pipeline, Resource};
use serde_json::Value;

use super::Fields;

pub(crate) fn resource(pipeline: &Pipeline, resource: &Resource) -> Value {
    let configs = pipeline.config["resources"]
        .as_array()
        .into_iter()
        .flatten();
    let config = configs
        .into_iter()
        .find(|config| config["name"] == *resource.name);
    let field = |name: &str| config.map_or(Value::Null, |config| config[name].clone());
    let pinned = field("version");
    Fields::default()
        .with("name", resource.name.as_str())
        .with("pipeline_id", pipeline.id.0)
        .with("pipeline_name", pipeline.name.as_str())
        .maybe("pipeline_instance_vars", pipeline.instance_vars.to_value())
        .with("team_name", pipeline.team_name.as_str())
        .with("type", resource.type_.as_str())
        .maybe("icon", field("icon"))
        .maybe("pinned_in_config", pinned.is_object())
        .maybe("pinned_version", pinned)
        .done()
}
