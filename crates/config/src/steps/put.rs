//! `put`: makes a new version of a resource, then fetches it.

use airside_model::plan::{GetPlan, OnSuccessPlan, PutInputs, PutPlan};
use airside_model::{Plan, PlanNode};
use airside_yaml::Value;
use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::plan::{PlanError, Planner};
use crate::reader::Fields;
use crate::validate::Checker;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PutStep {
    #[serde(rename = "put")]
    pub name: String,
    /// Where it differs from the name; see [`PutStep::resource`].
    #[serde(default, rename = "resource", skip_serializing_if = "String::is_empty")]
    pub raw_resource: String,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, serde_json::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<PutInputs>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// For the get that follows.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub get_params: Map<String, serde_json::Value>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_get: bool,
}

pub(super) fn read(fields: &mut Fields<'_, '_>) -> PutStep {
    PutStep {
        name: fields.string("put"),
        raw_resource: fields.string("resource"),
        params: fields.object("params").unwrap_or_default(),
        inputs: read_inputs(fields),
        tags: fields.strings("tags"),
        get_params: fields.object("get_params").unwrap_or_default(),
        no_get: fields.flag("no_get"),
    }
}

fn read_inputs(fields: &mut Fields<'_, '_>) -> Option<PutInputs> {
    let path = fields.path_of("inputs");
    let node = fields.take("inputs")?;
    match &node.value {
        Value::Seq(_) => {
            let names = fields.strings("inputs");
            Some(PutInputs::Named(
                names.iter().map(|name| name.trim().to_owned()).collect(),
            ))
        }
        Value::String(word) if word == "all" => Some(PutInputs::All),
        Value::String(word) if word == "detect" => Some(PutInputs::Detect),
        _ => {
            fields.reader.check_vars(node, &path);
            let message = "must be `all`, `detect` or a list of names";
            fields.reader.problem(&path, node.span, message);
            None
        }
    }
}

impl PutStep {
    /// The resource it makes a version of.
    pub fn resource(&self) -> &str {
        if self.raw_resource.is_empty() {
            &self.name
        } else {
            &self.raw_resource
        }
    }

    pub(super) fn check(&self, path: &str, checker: &mut Checker<'_>) {
        let path = format!("{path}.put({})", self.name);
        checker.identifier(&self.name, &path);
        checker.resource_exists(self.resource(), &path);
    }

    pub(super) fn plan(&self, planner: &mut Planner<'_>) -> Result<Plan, PlanError> {
        let resource = planner.resource(&self.name, self.resource())?;
        let source = resource.source.clone().unwrap_or_default();
        let tags = planner.tags(&self.tags);
        let put = planner.node(PlanNode::Put(PutPlan {
            name: self.name.clone(),
            type_: resource.type_.clone(),
            resource: resource.name.clone(),
            source: source.clone(),
            params: self.params.clone(),
            inputs: self.inputs.clone().unwrap_or_default(),
            tags: tags.clone(),
        }));
        if self.no_get {
            return Ok(put);
        }
        let get = planner.node(PlanNode::Get(GetPlan {
            name: self.name.clone(),
            type_: resource.type_.clone(),
            resource: resource.name.clone(),
            source,
            params: self.get_params.clone(),
            version: None,
            version_from: Some(put.id.clone()),
            tags,
        }));
        Ok(planner.node(PlanNode::OnSuccess(OnSuccessPlan {
            step: Box::new(put),
            on_success: Box::new(get),
        })))
    }
}
