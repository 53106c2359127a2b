//! `run`: sends a message to a prototype.

use airside_model::plan::RunPlan;
use airside_model::task::ContainerLimits;
use airside_model::{Plan, PlanNode};
use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::plan::{PlanError, Planner};
use crate::reader::Fields;
use crate::shape::{Field, Kind, Shape};
use crate::validate::Checker;
use crate::{suggest, task_config, task_shape, validate_identifier};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunStep {
    #[serde(rename = "run")]
    pub message: String,
    /// A prototype's name.
    #[serde(default, rename = "type")]
    pub type_: String,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, serde_json::Value>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub privileged: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_limits: Option<ContainerLimits>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub timeout: String,
}

pub(crate) static SHAPE: Shape = Shape {
    name: "run_step",
    doc: "Sends a message to a prototype.",
    fields: &[
        Field::required("run", Kind::Text, "Message to send."),
        Field::required("type", Kind::Text, "Name of the prototype."),
        Field::new(
            "params",
            Kind::Object,
            "Params, which override the prototype's defaults.",
        ),
        Field::new("privileged", Kind::Flag, "Run the container privileged."),
        Field::new(
            "container_limits",
            Kind::Inner(&task_shape::LIMITS),
            "Limits of CPU and memory.",
        ),
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

pub(super) fn read(fields: &mut Fields<'_, '_>) -> RunStep {
    RunStep {
        message: fields.string("run"),
        type_: fields.string("type"),
        params: fields.object("params").unwrap_or_default(),
        privileged: fields.flag("privileged"),
        tags: fields.strings("tags"),
        container_limits: task_config::read_limits(fields),
        timeout: fields.duration("timeout", &[]),
    }
}

impl RunStep {
    pub(super) fn check(&self, path: &str, checker: &mut Checker<'_>) {
        let path = format!("{path}.run({}.{})", self.type_, self.message);
        // Prototypes are new enough to be strict about.
        match validate_identifier(&self.message, &path) {
            Ok(None) => {}
            Ok(Some(warning)) => checker.plain_problem(&path, warning.message),
            Err(_) => checker.problem(&path, "identifier cannot be an empty string"),
        }
        let config = checker.config;
        if config.prototype(&self.type_).is_none() {
            let names = config.prototypes.iter().map(|type_| type_.name.as_str());
            let hint = suggest::hint(&self.type_, names);
            checker.problem(&path, format!("unknown prototype '{}'{hint}", self.type_));
        }
    }

    pub(super) fn plan(&self, planner: &mut Planner<'_>) -> Result<Plan, PlanError> {
        let prototype = planner.prototype(&self.message, &self.type_)?;
        let mut object = prototype.defaults.clone();
        object.extend(self.params.clone());
        let tags = planner.tags(&self.tags);
        planner.node(PlanNode::Run(RunPlan {
            message: self.message.clone(),
            type_: self.type_.clone(),
            object,
            privileged: self.privileged,
            tags,
            container_limits: self.container_limits.clone(),
            timeout: self.timeout.clone(),
        }))
    }
}
