//! `get`: fetches a version of a resource as an artifact.

use airside_model::{
    StepKind,
    event::{Event, FinishResource},
    plan::GetPlan,
};
use airside_orchestrator::{StepEnd, StepOutput, StepResult};
use airside_store::now;

use super::resource::{Answer, Call};
use crate::{
    Result,
    interpret::{Leaf, Outcome, Status},
};

const FOLDER: &str = "/tmp/build/get";

pub(crate) async fn run(leaf: Leaf<'_>, get: &GetPlan) -> Result<Status> {
    let (origin, time) = (leaf.origin(), now().seconds());
    leaf.say(
        "initialize",
        Event::InitializeGet {
            origin: origin.clone(),
            time,
        },
    )
    .await?;
    let from_put = get
        .version_from
        .as_ref()
        .and_then(|plan| leaf.state().version(plan));
    let Some(version) = get.version.clone().or(from_put) else {
        return leaf.error("the version to get is not known").await;
    };
    let call = Call {
        kind: StepKind::Get,
        verb: "in",
        name: &get.name,
        type_: &get.type_,
        tags: &get.tags,
        folder: FOLDER,
        source: &get.source,
        params: &get.params,
        version: Some(&version),
        inputs: Vec::new(),
        outputs: vec![StepOutput {
            name: get.name.clone(),
            path: FOLDER.to_owned(),
        }],
        start_event: Event::StartGet { origin, time },
    };
    match call.request(leaf) {
        Ok(request) => leaf.run(&request, |result| conclude(leaf, result)).await,
        Err(words) => leaf.error(words).await,
    }
}

async fn conclude(leaf: Leaf<'_>, result: StepResult) -> Result<Status> {
    let exit_status = match result.end {
        StepEnd::Errored(words) => return leaf.error(words).await,
        StepEnd::Stopped => return leaf.interrupted().await,
        StepEnd::Exited(code) => code,
    };
    let mut finish = FinishResource {
        origin: leaf.origin(),
        time: now().seconds(),
        exit_status,
        version: Default::default(),
        metadata: Vec::new(),
    };
    if exit_status != 0 {
        leaf.say("finish", Event::FinishGet(finish)).await?;
        return leaf.commit(Outcome::of(Status::Failed)).await;
    }
    let answer = match Answer::read(&result.answer) {
        Ok(answer) => answer,
        Err(words) => return leaf.error(words).await,
    };
    finish.version = answer.version.clone();
    finish.metadata = answer.metadata.unwrap_or_default();
    let outcome = Outcome {
        status: Status::Succeeded,
        version: Some(answer.version),
        metadata: finish.metadata.clone(),
        artifacts: result.outputs.into_iter().collect(),
    };
    leaf.say("finish", Event::FinishGet(finish)).await?;
    leaf.commit(outcome).await
}
