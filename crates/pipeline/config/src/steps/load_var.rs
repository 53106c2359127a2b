//! `load_var`: makes a variable of the build from a file.

use airside_model::plan::LoadVarPlan;
use airside_model::{Plan, PlanNode};
use serde::{Deserialize, Serialize};

use crate::plan::{PlanError, Planner};
use crate::reader::Fields;
use crate::shape::{Field, Kind, Shape};
use crate::suggest;
use crate::validate::Checker;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadVarStep {
    #[serde(rename = "load_var")]
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub format: String,
    /// True if the value may be seen in logs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reveal: bool,
}

const FORMATS: [&str; 5] = ["raw", "trim", "json", "yaml", "yml"];

pub(crate) static SHAPE: Shape = Shape {
    name: "load_var_step",
    doc: "Loads a variable from a file; later steps use it as ((.:name)).",
    fields: &[
        Field::required("load_var", Kind::Text, "Name of the variable."),
        Field::required(
            "file",
            Kind::Text,
            "Path of the file, beginning with an artifact.",
        ),
        Field::new(
            "format",
            Kind::Word(&FORMATS),
            "Format of the file; by default that of its extension, otherwise trimmed text.",
        ),
        Field::new("reveal", Kind::Flag, "Show the value in build logs."),
    ],
};

pub(super) fn read(fields: &mut Fields<'_, '_>) -> LoadVarStep {
    let step = LoadVarStep {
        name: fields.string("load_var"),
        file: fields.string("file"),
        format: fields.string("format"),
        reveal: fields.flag("reveal"),
    };
    let format = step.format.as_str();
    let is_var = airside_vars::first(format).is_some();
    if !format.is_empty() && !is_var && !FORMATS.contains(&format) {
        let hint = suggest::hint(format, FORMATS);
        let formats = FORMATS.join(", ");
        fields.complain("format", format!("'{format}' is none of {formats}{hint}"));
    }
    step
}

impl LoadVarStep {
    pub(super) fn check(&self, path: &str, checker: &mut Checker<'_>) {
        let path = format!("{path}.load_var({})", self.name);
        checker.identifier(&self.name, &path);
        checker.declare(&self.name, &path);
        if self.file.is_empty() {
            checker.problem(&path, "no file specified");
        }
        checker.artifact_is_made(&self.file, &path, "file");
    }

    pub(super) fn plan(&self, planner: &mut Planner<'_>) -> Result<Plan, PlanError> {
        planner.node(PlanNode::LoadVar(LoadVarPlan {
            name: self.name.clone(),
            file: self.file.clone(),
            format: self.format.clone(),
            reveal: self.reveal,
        }))
    }
}
