//! A check in the container that an earlier one of the same kind left, which costs a process and no container.

use std::time::Duration;

use airside_checker::{Freshness, Sharing};
use airside_model::event::{Event, Source};
use airside_orchestrator::{GuestEnd, GuestRun, StepRequest};
use airside_store::now;
use serde_json::json;

use super::{Looked, Step, versions};
use crate::{Result, leaf::Leaf, status::Cause, steps::get_cache::unchanging};

/// Equal ones would find the same: the container, the request, how long it may take.
pub(crate) type Runs = Sharing<(String, String, Duration), Option<GuestRun>>;

/// As what a check's container is offered to others: whose it is, where, and what is in it.
pub(super) struct Offer(pub(super) String);

impl Offer {
    /// None for an image that may change under its name: what is in the container might be another.
    pub(super) fn of(leaf: Leaf<'_>, request: &StepRequest) -> Option<Self> {
        let team = &leaf.interpreter.build.team_name;
        let orchestrator = &leaf.interpreter.engine.parts.orchestrator;
        let worker = orchestrator.worker_for(team, &request.tags)?;
        let image = unchanging(&request.image)?;
        let name = json!([team, worker, image, request.privileged, request.user]);
        Some(Self(name.to_string()))
    }
}

/// None: there is no such container. Nothing was said or done then.
pub(super) async fn look(
    step: &Step<'_>,
    offer: &Offer,
    request: &StepRequest,
    allowed: Duration,
) -> Result<Option<Looked>> {
    let leaf = step.leaf;
    let parts = &leaf.interpreter.engine.parts;
    let stdin = request.stdin.clone().unwrap_or_default();
    let key = (offer.0.clone(), stdin, allowed);
    let freshness = match step.check.skip_interval {
        true => Freshness::FromNow,
        false => Freshness::Shared,
    };
    let begin = {
        let (orchestrator, name) = (parts.orchestrator.clone(), offer.0.clone());
        let request = request.clone();
        move || async move { orchestrator.run_as_guest(&name, &request, allowed).await }
    };
    let running = parts.guest_checks.run(key, freshness, begin);
    let stop = leaf.context.stop.token();
    let ran = match stop.run_until_cancelled(running).await {
        Some(Some(ran)) => ran,
        Some(None) => return Ok(None),
        None => {
            let cause = leaf.context.stop.cause().unwrap_or(Cause::Aborted);
            return Ok(Some(Looked::Stopped(cause)));
        }
    };
    let event = Event::SelectedWorker {
        time: now().seconds(),
        origin: leaf.origin(),
        selected_worker: ran.worker.to_string(),
    };
    leaf.say("worker", event).await?;
    leaf.start().await?;
    let output = String::from_utf8_lossy(&ran.output);
    if !output.is_empty() {
        leaf.print("output", Source::Stderr, &output).await?;
    }
    Ok(Some(match ran.end {
        GuestEnd::Exited(0) => match versions(&ran.answer) {
            Ok(versions) => Looked::Found(versions),
            Err(words) => Looked::Errored(format!("run check: {words}")),
        },
        GuestEnd::Exited(_) => Looked::Failed,
        GuestEnd::Errored(words) => Looked::Errored(format!("run check: {words}")),
        GuestEnd::TimedOut => Looked::Stopped(Cause::TimedOut),
    }))
}
