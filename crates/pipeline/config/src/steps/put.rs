//! `put`: makes a new version of a resource, then fetches it.

use airside_model::plan::{GetPlan, OnSuccessPlan, PutInputs, PutPlan};
use airside_model::{Plan, PlanNode};
use airside_yaml::Value;
use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::base_type::Pulled;
use crate::plan::{PlanError, Planner};
use crate::reader::Fields;
use crate::shape::{Field, Kind, Shape};
use crate::validate::Checker;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PutStep {
    #[serde(rename = "put")]
    pub name: String,
    /// Resource, if it differs from the name; see [`PutStep::resource`].
    #[serde(default, rename = "resource", skip_serializing_if = "String::is_empty")]
    pub raw_resource: String,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, serde_json::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<PutInputs>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Params of the get that follows.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub get_params: Map<String, serde_json::Value>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub timeout: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_get: bool,
}

pub(crate) static SHAPE: Shape = Shape {
    name: "put_step",
    doc: "Puts a new version of a resource, then gets it.",
    fields: &[
        Field::required(
            "put",
            Kind::Text,
            "Name of the resource, and of the artifact that the get makes.",
        ),
        Field::new(
            "resource",
            Kind::Text,
            "Name of the resource, if it differs from the step's.",
        ),
        Field::new(
            "params",
            Kind::Object,
            "Params of the put; the fields depend on the type.",
        ),
        Field::new(
            "inputs",
            Kind::PutInputs,
            "Artifacts that the put gets: those named in params (detect), all, or a list.",
        ),
        Field::new(
            "get_params",
            Kind::Object,
            "Params of the get that follows.",
        ),
        Field::new("no_get", Kind::Flag, "Skip the get that follows."),
        Field::new(
            "tags",
            Kind::Texts,
            "Tags of the workers that run the step.",
        ),
        Field::new(
            "timeout",
            Kind::Duration,
            "Timeout of the step, without the time to fetch its image.",
        ),
    ],
};

pub(super) fn read(fields: &mut Fields<'_, '_>) -> PutStep {
    PutStep {
        name: fields.string("put"),
        raw_resource: fields.string("resource"),
        params: fields.object("params").unwrap_or_default(),
        inputs: read_inputs(fields),
        tags: fields.strings("tags"),
        get_params: fields.object("get_params").unwrap_or_default(),
        timeout: fields.duration("timeout", &[]),
        no_get: fields.flag("no_get"),
    }
}

fn read_inputs(fields: &mut Fields<'_, '_>) -> Option<PutInputs> {
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
            let message = "must be `all`, `detect` or a list of names";
            let path = fields.path_of("inputs");
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
        checker.put_inputs_are_made(self, &path);
    }

    pub(super) fn plan(&self, planner: &mut Planner<'_>) -> Result<Plan, PlanError> {
        let resource = planner.resource(&self.name, self.resource())?;
        let source = planner.source(resource);
        let tags = planner.tags(&self.tags);
        let id = planner.next_id()?;
        let skip_interval = planner.options.manually_triggered;
        let image = planner.image(&id, &resource.type_, &tags, skip_interval)?;
        let put = Plan::new(
            id,
            PlanNode::Put(PutPlan {
                name: self.name.clone(),
                type_: resource.type_.clone(),
                resource: resource.name.clone(),
                source,
                image,
                params: self.params.clone(),
                inputs: self.inputs.clone().unwrap_or_default(),
                tags: tags.clone(),
                timeout: self.timeout.clone(),
                expose_build_created_by: resource.expose_build_created_by,
            }),
        );
        if self.no_get {
            return Ok(put);
        }
        let id = planner.next_id()?;
        let image = planner.image(&id, &resource.type_, &tags, skip_interval)?;
        let Pulled { type_, source } = planner.pulled(resource);
        let get = Plan::new(
            id,
            PlanNode::Get(GetPlan {
                name: self.name.clone(),
                type_,
                resource: resource.name.clone(),
                source,
                image,
                params: self.get_params.clone(),
                version: None,
                version_from: Some(put.id.clone()),
                tags,
                timeout: self.timeout.clone(),
            }),
        );
        planner.node(PlanNode::OnSuccess(OnSuccessPlan {
            step: Box::new(put),
            on_success: Box::new(get),
        }))
    }
}
