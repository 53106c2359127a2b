//! A check as the guest of a container that is there for such checks: the team's checker elsewhere, or one with the
//! image of a type. Costs a process; the first one that finds no container places it.

use std::{sync::Arc, time::Duration};

use airside_check_process::Freshness;
use airside_model::{
    PlanNode, WorkerName,
    event::{Event, Source},
    plan::TypeImage,
};
use airside_orchestrator::{
    Asker, GuestEnd, GuestRequest, GuestRun, Host, HostLookup, Orchestrator, StepRequest, Ticket,
};
use airside_runtime::Image;
use airside_store::now;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Looked, Step, history::IMAGE_INTERVAL, versions};
use crate::{
    Result,
    checks::{TRIES, Visit},
    leaf::{End, Leaf},
    status::Cause,
    steps::get_cache::unchanging,
};

/// As what a container is offered to checks, and for how long: whose it is, where, and what is in it.
pub(super) struct Lodging {
    pub(super) name: String,
    pub(super) lifetime: Option<Duration>,
}

impl Lodging {
    /// None where the check needs a container of its own: what is in one might be another image by now.
    pub(super) fn of(leaf: Leaf<'_>, request: &StepRequest, type_: &TypeImage) -> Option<Self> {
        let team = &leaf.interpreter.build.team_name;
        let orchestrator = &leaf.interpreter.engine.parts.orchestrator;
        let worker = orchestrator.worker_for(team, &request.tags)?;
        let is_here = orchestrator.capabilities(&worker)?.mounts_volumes;
        let (image, lifetime) = match unchanging(&request.image) {
            Some(image) => (image, None),
            None if is_here => return None,
            None => changing(&request.image, type_)?,
        };
        let name = json!([team, worker, image, request.privileged, request.user]);
        Some(Self {
            name: name.to_string(),
            lifetime,
        })
    }
}

/// On a node: the operator's image is the same while the server runs, and one that a tag stands for is used as long as
/// nobody would look for another.
fn changing(image: &Image, type_: &TypeImage) -> Option<(Value, Option<Duration>)> {
    match image {
        Image::Host => Some((json!("host"), None)),
        Image::Registry { reference, .. } => {
            let interval = match type_.check_plan.as_ref().map(|plan| &plan.node) {
                Some(PlanNode::Check(check)) => check.interval.as_str(),
                _ => "",
            };
            let lifetime = match interval {
                "never" => None,
                text => Some(airside_config::parse_duration(text).unwrap_or(IMAGE_INTERVAL)),
            };
            Some((json!({"tag": reference}), lifetime))
        }
        _ => None,
    }
}

/// Waits until one of the workers for such a step takes any. None: there is none for it.
pub(super) async fn worker(
    leaf: Leaf<'_>,
    tags: &[String],
) -> Result<Result<Option<WorkerName>, Cause>> {
    let team = &leaf.interpreter.build.team_name;
    let orchestrator = &leaf.interpreter.engine.parts.orchestrator;
    if orchestrator.would_wait(team, tags) {
        let (time, origin) = (now().seconds(), leaf.origin());
        leaf.say("waiting", Event::WaitingForWorker { time, origin })
            .await?;
    }
    let stop = leaf.context.stop.token();
    let back = orchestrator.worker_when_back(team, tags);
    Ok(match stop.run_until_cancelled(back).await {
        Some(worker) => Ok(worker),
        None => Err(cause(leaf)),
    })
}

/// What a check is, and where.
pub(super) struct Stay<'a> {
    pub(super) lodging: &'a Lodging,
    pub(super) guest: &'a GuestRequest,
    /// The same as a step, of which the container is made.
    pub(super) request: &'a StepRequest,
    pub(super) allowed: Duration,
}

pub(super) async fn look(step: &Step<'_>, stay: Stay<'_>) -> Result<Looked> {
    let leaf = step.leaf;
    let (engine, deadline) = (
        leaf.interpreter.engine,
        airside_model::deadline_after(Instant::now(), stay.allowed),
    );
    for _ in 0..TRIES {
        let host = match find(step, &stay, deadline).await? {
            Ok(host) => host,
            Err(looked) => return Ok(looked),
        };
        let visit = Visit {
            name: &stay.lodging.name,
            host,
            request: stay.guest,
            timeout: stay.allowed,
            deadline,
            freshness: match step.check.skip_interval {
                true => Freshness::FromNow,
                false => Freshness::Shared,
            },
        };
        let stop = leaf.context.stop.token();
        match stop.run_until_cancelled(engine.visit(visit)).await {
            Some(Some(run)) => return heard(leaf, run).await,
            Some(None) => {}
            None => return Ok(Looked::Stopped(cause(leaf))),
        }
    }
    Ok(Looked::Errored(
        "run check: the container that it ran in was lost; it is made again for the next one"
            .to_owned(),
    ))
}

/// The container, placed if it must be. `Err`: the check ends here.
async fn find(
    step: &Step<'_>,
    stay: &Stay<'_>,
    deadline: Instant,
) -> Result<Result<Arc<Host>, Looked>> {
    let leaf = step.leaf;
    let orchestrator = &leaf.interpreter.engine.parts.orchestrator;
    let (name, anew) = (&stay.lodging.name, step.check.skip_interval);
    let stop = leaf.context.stop.token();
    let found = tokio::select! {
        found = orchestrator.host(name, Asker::Placer, anew) => found,
        () = stop.cancelled() => return Ok(Err(Looked::Stopped(cause(leaf)))),
        () = tokio::time::sleep_until(deadline) => {
            return Ok(Err(Looked::Stopped(Cause::TimedOut)));
        }
    };
    match found {
        HostLookup::There(host) => Ok(Ok(host)),
        HostLookup::Refused(words) => Ok(Err(Looked::Errored(format!("run check: {words}")))),
        HostLookup::Nothing(ticket) => place(leaf, stay, ticket).await,
    }
}

/// Makes the container. One that an earlier server began to make is followed.
async fn place(
    leaf: Leaf<'_>,
    stay: &Stay<'_>,
    ticket: Ticket,
) -> Result<Result<Arc<Host>, Looked>> {
    let request = Orchestrator::hosting(stay.request.clone());
    let ran = leaf.run(&request, Some(stay.allowed)).await?;
    let words = match &ran.end {
        End::Exited(0) => {
            let offered = leaf.offer(ran, ticket, stay.lodging.lifetime).await;
            let lost = || Looked::Errored("run check: its container was lost".to_owned());
            return Ok(offered.ok_or_else(lost));
        }
        End::Exited(code) => {
            format!("the container for checks does not work: its shim ended with {code}")
        }
        End::Errored(words) => words.clone(),
        End::Stopped(cause) => {
            let cause = *cause;
            leaf.let_go(ran).await;
            return Ok(Err(Looked::Stopped(cause)));
        }
    };
    ticket.refuse(&words);
    leaf.let_go(ran).await;
    Ok(Err(Looked::Errored(format!("run check: {words}"))))
}

/// Says what the process said.
async fn heard(leaf: Leaf<'_>, run: GuestRun) -> Result<Looked> {
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
    Ok(match run.end {
        GuestEnd::Exited(0) => match versions(&run.answer) {
            Ok(versions) => Looked::Found(versions),
            Err(words) => Looked::Errored(format!("run check: {words}")),
        },
        GuestEnd::Exited(_) => Looked::Failed,
        GuestEnd::Errored(words) => Looked::Errored(format!("run check: {words}")),
        GuestEnd::TimedOut => Looked::Stopped(Cause::TimedOut),
    })
}

fn cause(leaf: Leaf<'_>) -> Cause {
    leaf.context.stop.cause().unwrap_or(Cause::Aborted)
}
