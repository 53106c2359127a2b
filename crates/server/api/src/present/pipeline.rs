//! Pipelines. Serialised straight from what the store has: there may be thousands in a list.

use airside_store::{InstanceVars, Micros, PipelineSummary};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};

#[derive(Serialize)]
pub(crate) struct Shown<'a> {
    id: i64,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance_vars: Option<&'a Map<String, Value>>,
    paused: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    paused_by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paused_at: Option<i64>,
    public: bool,
    archived: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<&'a RawValue>,
    team_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    display: Option<&'a RawValue>,
    last_updated: i64,
}

/// The stored part of the configuration, as it was written.
#[derive(Default, Deserialize)]
struct Outline<'a> {
    #[serde(borrow)]
    groups: Option<&'a RawValue>,
    #[serde(borrow)]
    display: Option<&'a RawValue>,
}

pub(crate) fn pipeline(pipeline: &PipelineSummary) -> Shown<'_> {
    // What cannot be read is not shown.
    let outline: Outline<'_> = serde_json::from_str(&pipeline.outline).unwrap_or_default();
    Shown {
        id: pipeline.id.0,
        name: &pipeline.name,
        instance_vars: given(&pipeline.instance_vars),
        paused: pipeline.paused,
        paused_by: pipeline.paused_by.as_deref(),
        paused_at: pipeline.paused_at.map(Micros::seconds),
        public: pipeline.public,
        archived: pipeline.archived,
        groups: outline.groups,
        team_name: &pipeline.team_name,
        display: outline.display,
        last_updated: pipeline.updated_at.seconds(),
    }
}

/// Instance vars, if there are any.
pub(super) fn given(vars: &InstanceVars) -> Option<&Map<String, Value>> {
    (!vars.is_empty()).then_some(vars.as_map())
}
