//! `check`: finds versions, of a resource or for an image, and saves them.
//!
//! A native type is checked by the team's checker on the step's worker ([`native`]); everything else in a container
//! of its type, which others share ([`guest`]). What was found a moment ago is not looked for again ([`history`]).

mod guest;
mod history;
mod native;

use std::time::Duration;

use airside_model::{StepKind, Version, bounded_versions, event::Event, plan::CheckPlan};
use airside_orchestrator::GuestRequest;
use airside_store::{Micros, now};
use serde_json::{Map, Value};

use self::{
    guest::{Lodging, Stay},
    history::{Gone, Subject},
};
use super::resource::{Call, filled, no_image, read, timeout};
use crate::{
    Result,
    leaf::{End, Leaf},
    outcome::Outcome,
    status::{Cause, Status},
};

/// How looking for versions ended.
enum Looked {
    Found(Vec<Version>),
    /// The type said no, and its output says why.
    Failed,
    Errored(String),
    Stopped(Cause),
}

pub(crate) async fn run(leaf: Leaf<'_>, check: &CheckPlan) -> Result<Status> {
    let (origin, time) = (leaf.origin(), now().seconds());
    let event = Event::InitializeCheck {
        origin,
        time,
        name: check.name.clone(),
    };
    leaf.say("initialize", event).await?;
    // Of several checks of one resource at once, those that waited for the first hardly ever need to run.
    let _turn = leaf.interpreter.engine.turn_to_check(leaf, check).await;
    let started_at = now();
    let mut subject = match Subject::of(leaf, check).await? {
        Ok(subject) => subject,
        Err(Gone(words)) => return leaf.error(words).await,
    };
    let source = match filled(leaf, &check.source).await {
        Ok(source) => source,
        Err(words) => {
            let words = format!("resource config creds evaluation: {words}");
            return ended(leaf, &subject, started_at, Looked::Errored(words)).await;
        }
    };
    let allowed = match timeout(&check.timeout) {
        Ok(timeout) => timeout.unwrap_or(leaf.interpreter.engine.parts.check_timeout),
        Err(words) => return leaf.error(words).await,
    };
    let step = Step {
        leaf,
        check,
        source,
        started_at,
    };
    match native::checker(leaf, check).await? {
        Ok(Some(checker)) => {
            if let Some(known) = subject.known(leaf, check, &step.source, None).await? {
                return reuse(leaf, known).await;
            }
            let looked = native::look(&step, checker, subject.from(), allowed).await?;
            ended(leaf, &subject, started_at, looked).await
        }
        Ok(None) => step.in_container(&mut subject, allowed).await,
        Err(cause) => ended(leaf, &subject, started_at, Looked::Stopped(cause)).await,
    }
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

    async fn in_container(&self, subject: &mut Subject, allowed: Duration) -> Result<Status> {
        let (leaf, check) = (self.leaf, self.check);
        let mut call = self.call(self.source.clone());
        let program = match call.program(leaf).await? {
            Ok(program) => program,
            Err(none) => {
                subject.failed(leaf, self.started_at).await?;
                return no_image(leaf, none).await;
            }
        };
        let made_by = check.image.check_plan.as_ref();
        let image = made_by.and_then(|plan| leaf.interpreter.version(&plan.id));
        if let Some(image) = &image {
            subject.in_image(leaf, check, image).await?;
        }
        if let Some(known) = subject.known(leaf, check, &self.source, image).await? {
            return reuse(leaf, known).await;
        }
        call.version = subject.from().cloned();
        let request = call.request_with(leaf, program);
        if let Err(cause) = guest::worker(leaf, &check.tags).await? {
            return ended(leaf, subject, self.started_at, Looked::Stopped(cause)).await;
        }
        if let Some(lodging) = Lodging::of(leaf, &request, &check.image) {
            let stay = Stay {
                lodging: &lodging,
                guest: &GuestRequest::from(&request),
                request: &request,
                allowed,
            };
            let looked = guest::look(self, stay).await?;
            return ended(leaf, subject, self.started_at, looked).await;
        }
        let ran = leaf.run(&request, Some(allowed)).await?;
        let looked = match &ran.end {
            End::Errored(words) => Looked::Errored(format!("run check: {words}")),
            End::Stopped(cause) => Looked::Stopped(*cause),
            End::Exited(0) => match versions(&ran.answer) {
                Ok(versions) => Looked::Found(versions),
                Err(words) => Looked::Errored(format!("run check: {words}")),
            },
            End::Exited(_) => Looked::Failed,
        };
        let status = ended(leaf, subject, self.started_at, looked).await?;
        leaf.let_go(ran).await;
        Ok(status)
    }
}

/// What was found before will do.
async fn reuse(leaf: Leaf<'_>, version: Option<Version>) -> Result<Status> {
    let outcome = Outcome {
        version,
        ..Outcome::of(Status::Succeeded)
    };
    leaf.finish(outcome).await
}

/// Saves what was found, then says and commits how it went.
async fn ended(
    leaf: Leaf<'_>,
    subject: &Subject,
    started_at: Micros,
    looked: Looked,
) -> Result<Status> {
    match looked {
        Looked::Found(versions) => {
            let version = versions.last().cloned();
            subject.found(leaf, started_at, versions).await?;
            let outcome = Outcome {
                version,
                ..Outcome::of(Status::Succeeded)
            };
            leaf.finish(outcome).await
        }
        Looked::Failed => {
            subject.failed(leaf, started_at).await?;
            leaf.finish(Outcome::of(Status::Failed)).await
        }
        Looked::Errored(words) => {
            subject.failed(leaf, started_at).await?;
            leaf.error(words).await
        }
        Looked::Stopped(cause) => {
            if cause == Cause::TimedOut {
                subject.failed(leaf, started_at).await?;
            }
            leaf.stopped(cause, Outcome::of(Status::Aborted)).await
        }
    }
}

/// What a check printed, oldest first; to print nothing is to have found none.
pub(crate) fn versions(answer: &[u8]) -> Result<Vec<Version>, String> {
    if answer.iter().all(u8::is_ascii_whitespace) {
        return Ok(Vec::new());
    }
    let versions: Option<Vec<Version>> = read(answer)?;
    let versions = versions.unwrap_or_default();
    if versions.iter().any(Version::is_empty) {
        return Err("the resource found a version without any key".to_owned());
    }
    bounded_versions(&versions)?;
    Ok(versions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_or_refused() {
        assert_eq!(versions(b" \n"), Ok(vec![]));
        assert_eq!(versions(b"[]"), Ok(vec![]));
        assert_eq!(versions(b"null"), Ok(vec![]));
        let found = versions(br#"[{"v":"1"},{"v":"2"}]"#);
        let expected = [[("v", "1")], [("v", "2")]].map(Version::from);
        assert_eq!(found, Ok(expected.to_vec()));
        for garbage in [&b"{"[..], b"[1]", b"[{}]", b"[{\"v\": 1}]"] {
            assert!(versions(garbage).is_err(), "{garbage:?}");
        }
    }
}
