//! Inputs and outputs of a build, with their versions.

use airside_model::Version;
use askama::Template;

use super::versions::short_version;
use crate::shell::rendered;

/// An input or output of a build.
#[derive(Clone, Debug)]
pub struct InputRow {
    pub name: String,
    /// Address of the resource with this version, where the viewer can go there.
    pub href: Option<String>,
    pub version: Version,
    /// True if no earlier build of the job had it as this input.
    pub is_new: bool,
}

/// Inputs and outputs of a build.
#[derive(Clone, Debug, Default)]
pub struct BuildInputs {
    pub inputs: Vec<InputRow>,
    pub outputs: Vec<InputRow>,
}

impl BuildInputs {
    /// Renders the section.
    pub fn rendered(&self) -> String {
        rendered(&Inputs {
            tables: [("Inputs", &self.inputs), ("Outputs", &self.outputs)],
        })
    }
}

#[derive(Template)]
#[template(path = "build/inputs.html")]
struct Inputs<'a> {
    tables: [(&'static str, &'a Vec<InputRow>); 2],
}
