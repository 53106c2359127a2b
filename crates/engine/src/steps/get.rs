//! `get`: fetches a version of a resource as an artifact.

use airside_model::{StepKind, event::Event, plan::GetPlan};
use airside_orchestrator::{StepOutput, StepResult};
use airside_store::now;

use super::resource::{Call, outcome};
use crate::{
    Result,
    interpret::{Leaf, Status},
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
    match outcome(leaf, result, Event::FinishGet).await? {
        Ok(outcome) => leaf.commit(outcome).await,
        Err(ended) => Ok(ended),
    }
}
