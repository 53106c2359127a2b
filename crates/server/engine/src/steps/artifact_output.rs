//! `artifact_output`: an artifact of the build can be downloaded after its end.

use airside_model::plan::ArtifactOutputPlan;

use crate::{Result, StepError, leaf::Leaf, outcome::Outcome, reference, status::Status};

pub(crate) async fn run(leaf: Leaf<'_>, output: &ArtifactOutputPlan) -> Result<Status, StepError> {
    let name = &output.name;
    let Some(found) = leaf.scope().artifact(name) else {
        return Err(format!("artifact '{name}' not found").into());
    };
    let volume = reference::whole(leaf, name, found).await?;
    let interpreter = leaf.interpreter;
    let store = &interpreter.engine.parts.store;
    store
        .offer_artifact(interpreter.lease, name, &volume)
        .await?;
    Ok(leaf.commit(Outcome::of(Status::Succeeded)).await?)
}
