//! `set_pipeline`: sets a pipeline from a file of the build.

use airside_model::plan::SetPipelinePlan;
use airside_model::{Plan, PlanNode};
use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::plan::{PlanError, Planner};
use crate::reader::Fields;
use crate::shape::{Field, Kind, Shape};
use crate::validate::Checker;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetPipelineStep {
    /// A pipeline's name, or `self`.
    #[serde(rename = "set_pipeline")]
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub team: String,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub vars: Map<String, serde_json::Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub var_files: Vec<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub instance_vars: Map<String, serde_json::Value>,
}

pub(crate) static SHAPE: Shape = Shape {
    name: "set_pipeline_step",
    doc: "Sets a pipeline from a file.",
    fields: &[
        Field::required(
            "set_pipeline",
            Kind::Text,
            "Name of the pipeline, or self for this one.",
        ),
        Field::required(
            "file",
            Kind::Text,
            "Path of the configuration, beginning with an artifact.",
        ),
        Field::new("vars", Kind::Object, "Values of the file's variables."),
        Field::new(
            "var_files",
            Kind::Texts,
            "Files with values of variables; later ones win.",
        ),
        Field::new(
            "instance_vars",
            Kind::Object,
            "Instance vars, which distinguish pipelines of one name.",
        ),
        Field::new(
            "team",
            Kind::Text,
            "Team that gets the pipeline; only the main team may set it.",
        ),
    ],
};

pub(super) fn read(fields: &mut Fields<'_, '_>) -> SetPipelineStep {
    SetPipelineStep {
        name: fields.string("set_pipeline"),
        file: fields.string("file"),
        team: fields.string("team"),
        vars: fields.object("vars").unwrap_or_default(),
        var_files: fields.strings("var_files"),
        instance_vars: fields.object("instance_vars").unwrap_or_default(),
    }
}

impl SetPipelineStep {
    pub(super) fn check(&self, path: &str, checker: &mut Checker<'_>) {
        let path = format!("{path}.set_pipeline({})", self.name);
        checker.step_name(&self.name, &path);
        if self.file.is_empty() {
            checker.problem(&path, "no file specified");
        }
        checker.artifact_is_made(&self.file, &path, "file");
        for (index, file) in self.var_files.iter().enumerate() {
            checker.artifact_is_made(file, &path, &format!("var_files[{index}]"));
        }
    }

    pub(super) fn plan(&self, planner: &mut Planner<'_>) -> Result<Plan, PlanError> {
        planner.node(PlanNode::SetPipeline(SetPipelinePlan {
            name: self.name.clone(),
            file: self.file.clone(),
            team: self.team.clone(),
            vars: self.vars.clone(),
            var_files: self.var_files.clone(),
            instance_vars: self.instance_vars.clone(),
        }))
    }
}
