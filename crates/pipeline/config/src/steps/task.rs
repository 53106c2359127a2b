//! `task`: runs a program.

use std::collections::BTreeMap;

use airside_model::plan::TaskPlan;
use airside_model::task::ContainerLimits;
use airside_model::{Plan, PlanNode, TaskConfig};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::plan::{PlanError, Planner};
use crate::reader::Fields;
use crate::shape::{Field, Kind, Shape};
use crate::validate::Checker;
use crate::{task_config, task_shape};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskStep {
    #[serde(rename = "task")]
    pub name: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub privileged: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hermetic: bool,
    /// A file in an artifact, instead of a config here.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// Override those of the config.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_limits: Option<ContainerLimits>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<TaskConfig>,
    /// Override and extend those of the config.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, String>,
    /// Values of the variables of the file.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub vars: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub input_mapping: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub output_mapping: BTreeMap<String, String>,
    /// An artifact that is the image, instead of what the config says.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub image: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub timeout: String,
}

pub(crate) static SHAPE: Shape = Shape {
    name: "task_step",
    doc: "Runs a program.",
    fields: &[
        Field::required("task", Kind::Text, "Name of the step."),
        Field::new(
            "config",
            Kind::Inner(&task_shape::TASK),
            "Task to run, instead of a file.",
        ),
        Field::new(
            "file",
            Kind::Text,
            "A file with the config: an artifact and a path in it.",
        ),
        Field::new(
            "image",
            Kind::Text,
            "Artifact to use as the image, instead of the config's.",
        ),
        Field::new("privileged", Kind::Flag, "Run the container privileged."),
        Field::new("hermetic", Kind::Flag, "Run without a network."),
        Field::new("vars", Kind::Object, "Values of the file's variables."),
        Field::new(
            "params",
            Kind::Env,
            "Environment variables, which override the config's.",
        ),
        Field::new(
            "container_limits",
            Kind::Inner(&task_shape::LIMITS),
            "Limits of CPU and memory, which override the config's.",
        ),
        Field::new(
            "input_mapping",
            Kind::TextMap,
            "Inputs of the config to artifacts.",
        ),
        Field::new(
            "output_mapping",
            Kind::TextMap,
            "Outputs of the config to artifacts.",
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

pub(super) fn read(fields: &mut Fields<'_, '_>) -> TaskStep {
    let path = fields.path.clone();
    let config = fields
        .take("config")
        .map(|node| task_config::read(fields.reader, node, &format!("{path}.config")));
    let file = fields.string("file");
    let complaint = match (&config, file.is_empty()) {
        (None, true) => Some("must specify either `file:` or `config:`"),
        (Some(_), false) => Some("must specify one of `file:` or `config:`, not both"),
        _ => None,
    };
    if let Some(complaint) = complaint {
        let span = fields.reader.places.find(&path).unwrap_or(fields.span);
        fields.reader.problem(&path, span, complaint);
    }
    TaskStep {
        name: fields.string("task"),
        privileged: fields.flag("privileged"),
        hermetic: fields.flag("hermetic"),
        file,
        container_limits: task_config::read_limits(fields),
        config: config.flatten(),
        params: fields.env("params"),
        vars: fields.object("vars").unwrap_or_default(),
        tags: fields.strings("tags"),
        input_mapping: fields.string_map("input_mapping"),
        output_mapping: fields.string_map("output_mapping"),
        image: fields.string("image"),
        timeout: fields.duration("timeout", &[]),
    }
}

impl TaskStep {
    pub(super) fn check(&self, path: &str, checker: &mut Checker<'_>) {
        let path = format!("{path}.task({})", self.name);
        checker.step_name(&self.name, &path);
        checker.artifact_is_made(&self.file, &path, "file");
        checker.artifact_is_made(&self.image, &path, "image");
        checker.inputs_are_made(self, &path);
        let image = self
            .config
            .as_ref()
            .and_then(|config| config.image_resource.as_ref());
        if let Some(image) = image {
            checker.image_type_is_there(image, &path);
        }
        let two_images = !self.image.is_empty()
            && self.config.as_ref().is_some_and(|config| {
                !config.rootfs_uri.is_empty() || config.image_resource.is_some()
            });
        if two_images {
            let message = format!(
                "{path}: specifies image: on the step but also specifies an image under config: - the image: on the step takes precedence"
            );
            checker.warning("pipeline", &format!("{path}.image"), message);
        }
        let complaint = self
            .config
            .as_ref()
            .and_then(TaskConfig::platform_complaint);
        if let Some(complaint) = complaint {
            let place = format!("{path}.config.platform");
            checker.warning("pipeline", &place, format!("{path}: {complaint}"));
        }
        if self.hermetic {
            let message = format!(
                "{path}: specifies `hermetic:`, which only works on workers that can keep a step off the network"
            );
            checker.warning("pipeline", &format!("{path}.hermetic"), message);
        }
    }

    pub(super) fn plan(&self, planner: &mut Planner<'_>) -> Result<Plan, PlanError> {
        let tags = planner.tags(&self.tags);
        planner.node(PlanNode::Task(Box::new(TaskPlan {
            name: self.name.clone(),
            privileged: self.privileged,
            hermetic: self.hermetic,
            tags,
            config_path: self.file.clone(),
            config: self.config.clone(),
            container_limits: self.container_limits.clone(),
            image: self.image.clone(),
            vars: self.vars.clone(),
            params: self.params.clone(),
            input_mapping: self.input_mapping.clone(),
            output_mapping: self.output_mapping.clone(),
            timeout: self.timeout.clone(),
            resource_types: planner.config.resource_types.clone(),
            check_skip_interval: planner.options.manually_triggered,
        })))
    }
}
