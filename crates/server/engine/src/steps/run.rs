//! `run`: what Concourse itself does of it, which is to say that it does nothing yet.

use airside_model::{event::Source, plan::RunPlan};

use crate::{Result, StepError, leaf::Leaf, outcome::Outcome, status::Status};

pub(crate) async fn run(leaf: Leaf<'_>, run: &RunPlan) -> Result<Status, StepError> {
    leaf.initialize().await?;
    let notice = "\x1b[1;33mthe run step is not yet implemented\x1b[0m\n\n";
    leaf.print("notice", Source::Stderr, notice).await?;
    leaf.start().await?;
    let (message, type_) = (&run.message, &run.type_);
    let pretence =
        format!("\x1b[1;34mpretending to run {message} on prototype {type_}...\x1b[0m\n");
    leaf.print("pretence", Source::Stderr, &pretence).await?;
    Ok(leaf.finish(Outcome::of(Status::Succeeded)).await?)
}
