//! `artifact_input`: makes an upload an artifact of the build.

use std::collections::BTreeMap;

use airside_model::plan::ArtifactInputPlan;

use crate::{Result, StepError, leaf::Leaf, outcome::Outcome, status::Status};

pub(crate) async fn run(leaf: Leaf<'_>, input: &ArtifactInputPlan) -> Result<Status, StepError> {
    let interpreter = leaf.interpreter;
    let store = &interpreter.engine.parts.store;
    let found = store
        .use_artifact(interpreter.lease, input.artifact_id)
        .await?;
    let Some(artifact) = found else {
        let words = format!(
            "the upload for input `{}` is not there any more: uploads are kept for 12 hours",
            input.name
        );
        return Err(words.into());
    };
    let outcome = Outcome {
        artifacts: BTreeMap::from([(input.name.clone(), artifact.volume)]),
        ..Outcome::of(Status::Succeeded)
    };
    Ok(leaf.commit(outcome).await?)
}
