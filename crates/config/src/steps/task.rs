//! `task`: runs a program.

use std::collections::BTreeMap;

use airside_model::plan::TaskPlan;
use airside_model::task::ContainerLimits;
use airside_model::{Plan, PlanNode, TaskConfig};
use serde::{Deserialize, Serialize};

use crate::plan::{PlanError, Planner};
use crate::reader::Fields;
use crate::task_config;
use crate::validate::Checker;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskStep {
    #[serde(rename = "task")]
    pub name: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub privileged: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hermetic: bool,
    /// Override those of the config.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_limits: Option<ContainerLimits>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<TaskConfig>,
    /// Override and extend those of the config.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub input_mapping: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub output_mapping: BTreeMap<String, String>,
}

/// What a task step may say in Concourse and not here yet.
const REFUSED: [&str; 3] = ["file", "image", "vars"];

pub(super) fn read(fields: &mut Fields<'_, '_>) -> TaskStep {
    let path = fields.path.clone();
    let mut refused = false;
    for name in REFUSED {
        refused |= fields.refuse(name, &path);
    }
    let config = match fields.take("config") {
        Some(node) => task_config::read(fields.reader, node, &format!("{path}.config")),
        None => {
            if !refused {
                let span = fields.reader.places.find(&path).unwrap_or(fields.span);
                fields
                    .reader
                    .problem(&path, span, "must specify either `file:` or `config:`");
            }
            None
        }
    };
    TaskStep {
        name: fields.string("task"),
        privileged: fields.flag("privileged"),
        hermetic: fields.flag("hermetic"),
        container_limits: task_config::read_limits(fields),
        config,
        params: fields.env("params"),
        tags: fields.strings("tags"),
        input_mapping: fields.string_map("input_mapping"),
        output_mapping: fields.string_map("output_mapping"),
    }
}

impl TaskStep {
    pub(super) fn check(&self, path: &str, checker: &mut Checker<'_>) {
        checker.identifier(&self.name, &format!("{path}.task({})", self.name));
    }

    pub(super) fn plan(&self, planner: &mut Planner<'_>) -> Result<Plan, PlanError> {
        let config = self.config.clone();
        let config = config.ok_or_else(|| PlanError::NoConfig {
            step: self.name.clone(),
        })?;
        let tags = planner.tags(&self.tags);
        Ok(planner.node(PlanNode::Task(Box::new(TaskPlan {
            name: self.name.clone(),
            privileged: self.privileged,
            hermetic: self.hermetic,
            config,
            container_limits: self.container_limits.clone(),
            params: self.params.clone(),
            input_mapping: self.input_mapping.clone(),
            output_mapping: self.output_mapping.clone(),
            tags,
        }))))
    }
}
