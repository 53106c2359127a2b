//! `artifact_output`: an artifact of the build can be downloaded after its end.

use airside_model::plan::ArtifactOutputPlan;

use super::resource::no_image;
use crate::{Result, leaf::Leaf, outcome::Outcome, reference, status::Status};

pub(crate) async fn run(leaf: Leaf<'_>, output: &ArtifactOutputPlan) -> Result<Status> {
    let name = &output.name;
    let Some(found) = leaf.scope().artifact(name) else {
        return leaf.error(format!("artifact '{name}' not found")).await;
    };
    let volume = match reference::whole(leaf, name, found).await? {
        Ok(volume) => volume,
        Err(none) => return no_image(leaf, none).await,
    };
    let interpreter = leaf.interpreter;
    let store = &interpreter.engine.parts.store;
    store
        .offer_artifact(interpreter.lease, name, &volume)
        .await?;
    leaf.commit(Outcome::of(Status::Succeeded)).await
}
