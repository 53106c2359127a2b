//! A native check: in the team's process on this machine, or as a guest of its container on another
//! worker. Either way it costs no container of its own.

use std::time::{Duration, Instant};

use airside_check_process::{Check, Failure, Freshness};
use airside_checks::{CheckRunner as _, CheckWay, GuestRunner, ProcessRunner, SharedHost};
use airside_model::{
    Version,
    event::{Event, Source},
    plan::CheckPlan,
};
use airside_orchestrator::StepRequest;
use airside_protocol::Executable;
use airside_store::now;
use serde_json::Map;

use super::{
    Looked, Step,
    guest::{self, Stay},
    run_check,
};
use crate::{Result, StepError, leaf::Leaf, status::StopCause};

/// Returns the way that the check runs, as soon as a worker is there for it.
pub(super) async fn way(leaf: Leaf<'_>, check: &CheckPlan) -> Result<CheckWay, StepError> {
    let team = &leaf.interpreter.build.team_name;
    let ways = &leaf.interpreter.engine.parts.check_ways;
    let worker = guest::worker(leaf, &check.tags);
    ways.for_step(team, check, worker).await
}

/// Looks for versions the way that was chosen.
pub(super) async fn look(
    step: &Step<'_>,
    way: CheckWay,
    from: Option<&Version>,
    allowed: Duration,
) -> Result<Looked, StepError> {
    match way {
        CheckWay::Process(runner) => look_here(step, &runner, from, allowed).await,
        CheckWay::Guest(runner) => look_elsewhere(step, &runner, from, allowed).await,
        CheckWay::Container => Err(run_check("a native check needs no container")),
    }
}

async fn look_elsewhere(
    step: &Step<'_>,
    runner: &GuestRunner,
    from: Option<&Version>,
    allowed: Duration,
) -> Result<Looked, StepError> {
    let guest = runner.request(&step.check.type_, &step.source, from);
    let guest = guest.map_err(|words| run_check(&words))?;
    let host = SharedHost {
        name: runner.name(&step.check.type_),
        lifetime: None,
    };
    let type_ = &step.check.type_;
    let program = (runner.image(type_).into(), Executable::Shim, Vec::new());
    let request = step.call(Map::new()).request_with(step.leaf, program);
    let is_apart = airside_resource_types::uses_pod_account(type_);
    let native_type = request.native_type.clone().filter(|_| is_apart);
    let stay = Stay {
        host: &host,
        guest: &guest,
        // Nothing of this check goes into the container's own step.
        request: &StepRequest {
            native_type,
            ..request
        },
        allowed,
    };
    guest::look(step, stay).await
}

async fn look_here(
    step: &Step<'_>,
    runner: &ProcessRunner,
    from: Option<&Version>,
    allowed: Duration,
) -> Result<Looked, StepError> {
    let leaf = step.leaf;
    let build = leaf.interpreter.build;
    let event = Event::SelectedWorker {
        time: now().seconds(),
        origin: leaf.origin(),
        selected_worker: runner.worker().to_string(),
    };
    leaf.say("worker", event).await?;
    leaf.start().await?;
    let check = Check {
        team: build.team_name.clone(),
        type_: step.check.type_.clone(),
        source: step.source.clone(),
        from: from.cloned(),
        timeout: allowed,
        freshness: Freshness::FromNow,
    };
    let began = Instant::now();
    let stop = leaf.context.stop.token();
    let Some(checked) = stop.run_until_cancelled(runner.check(&check)).await else {
        return Err(leaf.stopped_error());
    };
    let metrics = &leaf.interpreter.engine.parts.metrics;
    metrics.native_check_took(&check.type_, began.elapsed());
    let output = match &checked {
        Ok(checked) => &checked.output,
        Err(failure) => failure.output(),
    };
    if !output.is_empty() {
        leaf.print("output", Source::Stderr, output).await?;
    }
    match checked {
        Ok(checked) if checked.versions.iter().any(Version::is_empty) => {
            Err(run_check("a version without any key was found"))
        }
        Ok(checked) => Ok(Looked::Versions(checked.versions)),
        Err(Failure::Failed { .. }) => Ok(Looked::Failed),
        Err(Failure::TimedOut { .. }) => Err(StepError::Stopped(StopCause::TimedOut)),
        Err(failure) => Err(run_check(&airside_model::chain(&failure))),
    }
}
