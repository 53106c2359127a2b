//! Inputs and outputs of a build.

use airside_ui::{BuildInputs, InputRow};

use super::ShownBuild;
use crate::web::links::pipeline_url;

impl ShownBuild<'_> {
    pub(super) fn inputs(&self) -> BuildInputs {
        let pipeline = self.request.scope.pipeline().ok();
        let link = |resource: &str| {
            pipeline.map(|pipeline| pipeline_url(pipeline, &["resources", resource]))
        };
        let inputs = self.versions.inputs.iter().map(|input| InputRow {
            name: input.name.clone(),
            href: link(&input.resource_name),
            version: input.version.clone(),
            is_new: input.first_occurrence,
        });
        let outputs = self.versions.outputs.iter().map(|output| InputRow {
            name: output.name.clone(),
            href: None,
            version: output.version.clone(),
            is_new: false,
        });
        BuildInputs {
            inputs: inputs.collect(),
            outputs: outputs.collect(),
        }
    }
}
