//! `check`: finds versions, of a resource or for an image, and saves them.
//!
//! A native type is checked by the team's checker on the step's worker ([`native`]); everything
//! else in a container of its type, which others share ([`guest`]). What was found a moment ago is
//! not looked for again ([`history`]).

mod guest;
mod history;
mod native;

use std::time::Duration;

use airside_checks::{CheckWay, read_versions};
use airside_model::{StepKind, Version, event::Event, plan::CheckPlan};
use airside_orchestrator::{GuestRequest, StepEnd};
use airside_store::{Micros, now};
use serde_json::{Map, Value};

use self::{guest::Stay, history::Subject};
use super::{
    get_cache::unchanging,
    resource::{Call, filled, timeout},
};
use crate::{
    Result, StepError,
    leaf::Leaf,
    outcome::Outcome,
    status::{Status, StopCause},
};

/// The end of a look for versions.
enum Looked {
    Versions(Vec<Version>),
    /// The type failed the check, and its output says why.
    Failed,
}

pub(crate) async fn run(leaf: Leaf<'_>, check: &CheckPlan) -> Result<Status, StepError> {
    let (origin, time) = (leaf.origin(), now().seconds());
    let event = Event::InitializeCheck {
        origin,
        time,
        name: check.name.clone(),
    };
    leaf.say("initialize", event).await?;
    // Of several checks of one resource at once, those that waited for the first hardly ever need
    // to run.
    let _turn = leaf.interpreter.engine.turn_to_check(leaf, check).await;
    let started_at = now();
    let mut subject = Subject::find(leaf, check).await?;
    let source = match filled(leaf, &check.source).await {
        Ok(source) => source,
        Err(words) => {
            let words = format!("resource config creds evaluation: {words}");
            return save_result(leaf, &subject, started_at, Err(words.into())).await;
        }
    };
    let default = leaf.interpreter.engine.parts.check_timeout;
    let allowed = timeout(&check.timeout)?.unwrap_or(default);
    let step = Step {
        leaf,
        check,
        source,
        started_at,
    };
    let way = match native::way(leaf, check).await {
        Ok(CheckWay::Container) => return step.in_container(&mut subject, allowed).await,
        Ok(way) => way,
        Err(error) => return save_result(leaf, &subject, started_at, Err(error)).await,
    };
    if let Some(known) = subject.known(leaf, check, &step.source, None).await? {
        return Ok(reuse(leaf, known).await?);
    }
    let looked = native::look(&step, way, subject.from(), allowed).await;
    save_result(leaf, &subject, started_at, looked).await
}

struct Step<'a> {
    leaf: Leaf<'a>,
    check: &'a CheckPlan,
    source: Map<String, Value>,
    started_at: Micros,
}

impl<'a> Step<'a> {
    fn call(&self, source: Map<String, Value>) -> Call<'a> {
        let (leaf, check) = (self.leaf, self.check);
        Call {
            kind: StepKind::Check,
            name: &check.name,
            type_: &check.type_,
            image: &check.image,
            tags: &check.tags,
            source,
            params: Map::new(),
            version: None,
            inputs: Vec::new(),
            outputs: Vec::new(),
            start_event: Event::Start {
                origin: leaf.origin(),
                time: now().seconds(),
            },
            created_by: None,
        }
    }

    /// Checks in a container with the image of the type: one that checks share, or its own.
    async fn in_container(
        &self,
        subject: &mut Subject,
        allowed: Duration,
    ) -> Result<Status, StepError> {
        let (leaf, check) = (self.leaf, self.check);
        let mut call = self.call(self.source.clone());
        let program = match call.program(leaf).await {
            Ok((mut image, run, args)) => {
                // A container that is there may do the check: no placement ends the get.
                leaf.end_image_get(image.get.take()).await?;
                (image, run, args)
            }
            Err(StepError::Ours(error)) => return Err(error.into()),
            Err(error) => {
                subject.failed(leaf, self.started_at).await?;
                return Err(error);
            }
        };
        let made_by = check.image.check_plan.as_ref();
        let image = made_by.and_then(|plan| leaf.interpreter.version(&plan.id));
        if let Some(image) = &image {
            subject.in_image(leaf, check, image).await?;
        }
        if let Some(known) = subject.known(leaf, check, &self.source, image).await? {
            return Ok(reuse(leaf, known).await?);
        }
        call.version = subject.from().cloned();
        let request = call.request_with(leaf, program);
        if let Err(error) = guest::worker(leaf, &check.tags).await {
            return save_result(leaf, subject, self.started_at, Err(error)).await;
        }
        let (team, fixed) = (
            &leaf.interpreter.build.team_name,
            unchanging(&request.image),
        );
        let ways = &leaf.interpreter.engine.parts.check_ways;
        if let Some(host) = ways.shared_host(team, &request, &check.image, fixed) {
            let stay = Stay {
                host: &host,
                guest: &GuestRequest::from(&request),
                request: &request,
                allowed,
            };
            let looked = guest::look(self, stay).await;
            return save_result(leaf, subject, self.started_at, looked).await;
        }
        let ran = leaf.run_process(&request, Some(allowed)).await?;
        let looked = match &ran.end {
            StepEnd::Errored(words) => Err(run_check(words)),
            StepEnd::Stopped(cause) => Err(StepError::Stopped(*cause)),
            StepEnd::Exited(0) => found(&ran.answer),
            StepEnd::Exited(_) => Ok(Looked::Failed),
        };
        let saved = save_result(leaf, subject, self.started_at, looked).await;
        let status = leaf.conclude(saved).await?;
        leaf.let_go(ran).await;
        Ok(status)
    }
}

/// Ends the step with the version that an earlier check found.
async fn reuse(leaf: Leaf<'_>, version: Option<Version>) -> Result<Status> {
    let outcome = Outcome {
        version,
        ..Outcome::of(Status::Succeeded)
    };
    leaf.finish(outcome).await
}

/// Returns the error of a check that could not run, in Concourse's words.
fn run_check(words: &str) -> StepError {
    StepError::Users(format!("run check: {words}"))
}

/// Reads the versions that the check's program printed.
fn found(answer: &[u8]) -> Result<Looked, StepError> {
    match read_versions(answer) {
        Ok(versions) => Ok(Looked::Versions(versions)),
        Err(words) => Err(run_check(&words)),
    }
}

/// Saves the versions or counts the failure, then commits the end.
async fn save_result(
    leaf: Leaf<'_>,
    subject: &Subject,
    started_at: Micros,
    looked: Result<Looked, StepError>,
) -> Result<Status, StepError> {
    match looked {
        Ok(Looked::Versions(versions)) => {
            let version = versions.last().cloned();
            subject.found(leaf, started_at, versions).await?;
            let outcome = Outcome {
                version,
                ..Outcome::of(Status::Succeeded)
            };
            Ok(leaf.finish(outcome).await?)
        }
        Ok(Looked::Failed) => {
            subject.failed(leaf, started_at).await?;
            Ok(leaf.finish(Outcome::of(Status::Failed)).await?)
        }
        Err(error) => {
            use StepError::{Stopped, Users};
            if matches!(error, Users(_) | Stopped(StopCause::TimedOut)) {
                subject.failed(leaf, started_at).await?;
            }
            Err(error)
        }
    }
}
