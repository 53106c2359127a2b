//! A check as the guest of a container that checks share: the team's on another worker, or one with
//! the image of a type. It costs a process; the first check that finds no container places it.

use std::{sync::Arc, time::Duration};

use airside_check_process::Freshness;
use airside_checks::{GuestVisit, SharedHost, VISIT_TRIES};
use airside_model::{
    WorkerName,
    event::{Event, Source},
};
use airside_orchestrator::{
    Asker, GuestEnd, GuestRequest, GuestRun, Host, HostLookup, HostTicket, Orchestrator, StepEnd,
    StepRequest,
};
use airside_store::now;
use tokio::time::Instant;

use super::{Looked, Step, found, run_check};
use crate::{Result, StepError, leaf::Leaf, status::StopCause};

/// Waits until one of the workers for such a step takes steps. None if there is no worker for it.
pub(super) async fn worker(
    leaf: Leaf<'_>,
    tags: &[String],
) -> Result<Option<WorkerName>, StepError> {
    let team = &leaf.interpreter.build.team_name;
    let orchestrator = &leaf.interpreter.engine.parts.orchestrator;
    if orchestrator.would_wait(team, tags) {
        let (time, origin) = (now().seconds(), leaf.origin());
        leaf.say("waiting", Event::WaitingForWorker { time, origin })
            .await?;
    }
    let stop = leaf.context.stop.token();
    let back = orchestrator.worker_when_back(team, tags);
    let worker = stop.run_until_cancelled(back).await;
    worker.ok_or_else(|| leaf.stopped_error())
}

/// A check, and the container that it runs in.
pub(super) struct Stay<'a> {
    pub(super) host: &'a SharedHost,
    pub(super) guest: &'a GuestRequest,
    /// The step that places the container if it is not there.
    pub(super) request: &'a StepRequest,
    pub(super) allowed: Duration,
}

pub(super) async fn look(step: &Step<'_>, stay: Stay<'_>) -> Result<Looked, StepError> {
    let leaf = step.leaf;
    let ways = &leaf.interpreter.engine.parts.check_ways;
    let deadline = airside_model::deadline_after(Instant::now(), stay.allowed);
    for _ in 0..VISIT_TRIES {
        let host = find(step, &stay, deadline).await?;
        let visit = GuestVisit {
            name: &stay.host.name,
            host,
            request: stay.guest,
            timeout: stay.allowed,
            deadline,
            freshness: if step.check.skip_interval {
                Freshness::FromNow
            } else {
                Freshness::Shared
            },
        };
        let stop = leaf.context.stop.token();
        match stop.run_until_cancelled(ways.visit(visit)).await {
            Some(Some(run)) => return ended(leaf, run).await,
            Some(None) => {}
            None => return Err(leaf.stopped_error()),
        }
    }
    Err(run_check(
        "the container that it ran in was lost; it is made again for the next one",
    ))
}

/// Returns the container, placed if it must be.
async fn find(step: &Step<'_>, stay: &Stay<'_>, deadline: Instant) -> Result<Arc<Host>, StepError> {
    let leaf = step.leaf;
    let orchestrator = &leaf.interpreter.engine.parts.orchestrator;
    let (name, anew) = (&stay.host.name, step.check.skip_interval);
    let stop = leaf.context.stop.token();
    let found = tokio::select! {
        found = orchestrator.host(name, Asker::Placer, anew) => found,
        () = stop.cancelled() => return Err(leaf.stopped_error()),
        () = tokio::time::sleep_until(deadline) => {
            return Err(StepError::Stopped(StopCause::TimedOut));
        }
    };
    match found {
        HostLookup::There(host) => Ok(host),
        HostLookup::Refused(words) => Err(run_check(&words)),
        HostLookup::Nothing(ticket) => place(leaf, stay, ticket).await,
    }
}

/// Places the container. One that an earlier server began to place is followed.
async fn place(
    leaf: Leaf<'_>,
    stay: &Stay<'_>,
    ticket: HostTicket,
) -> Result<Arc<Host>, StepError> {
    let request = Orchestrator::hosting(stay.request.clone());
    let ran = leaf.run_process(&request, Some(stay.allowed)).await?;
    let words = match &ran.end {
        StepEnd::Exited(0) => {
            let offered = leaf.offer(ran, ticket, stay.host.lifetime).await;
            return offered.ok_or_else(|| run_check("its container was lost"));
        }
        StepEnd::Exited(code) => {
            format!("the container for checks does not work: its shim ended with {code}")
        }
        StepEnd::Errored(words) => words.clone(),
        StepEnd::Stopped(cause) => {
            let cause = *cause;
            leaf.let_go(ran).await;
            return Err(StepError::Stopped(cause));
        }
    };
    ticket.refuse(&words);
    leaf.let_go(ran).await;
    Err(run_check(&words))
}

/// Writes the output of the process into the build's log, and reads its versions.
async fn ended(leaf: Leaf<'_>, run: GuestRun) -> Result<Looked, StepError> {
    let event = Event::SelectedWorker {
        time: now().seconds(),
        origin: leaf.origin(),
        selected_worker: run.worker.to_string(),
    };
    leaf.say("worker", event).await?;
    leaf.start().await?;
    let output = String::from_utf8_lossy(&run.output);
    if !output.is_empty() {
        leaf.print("output", Source::Stderr, &output).await?;
    }
    match run.end {
        GuestEnd::Exited(0) => found(&run.answer),
        GuestEnd::Exited(_) => Ok(Looked::Failed),
        GuestEnd::Errored(words) => Err(run_check(&words)),
        GuestEnd::TimedOut => Err(StepError::Stopped(StopCause::TimedOut)),
    }
}
