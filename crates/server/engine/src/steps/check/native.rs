//! A check by the team's checker: a process of this machine, or a container elsewhere. Either way it costs no container
//! of its own.

use std::time::{Duration, Instant};

use airside_check_process::{Check, Failure, Freshness};
use airside_model::{
    Version,
    event::{Event, Source},
    plan::CheckPlan,
};
use airside_protocol::Executable;
use airside_store::now;
use serde_json::Map;

use super::{
    Looked, Step,
    guest::{self, Lodging, Stay},
};
use crate::{
    Result, WorkerCheckers,
    checks::{Checker, Elsewhere},
    leaf::Leaf,
    status::Cause,
};

/// Who answers, as soon as a worker is there for it. None: none ever is, or the type is not ours.
pub(super) async fn checker<'a>(
    leaf: Leaf<'a>,
    check: &CheckPlan,
) -> Result<Result<Option<Checker<'a>>, Cause>> {
    let engine = leaf.interpreter.engine;
    if check.image.get_plan.is_some() || !airside_resource_types::is_native(&check.type_) {
        return Ok(Ok(None));
    }
    // Whoever pulls it, an image's version is looked for from here: that is worth no pod.
    if check.resource.is_empty() && check.type_ == "registry-image" {
        return Ok(Ok(engine.parts.checkers.as_ref().map(Checker::Here)));
    }
    let team = &leaf.interpreter.build.team_name;
    let worker = guest::worker(leaf, &check.tags).await?;
    Ok(worker.map(|worker| worker.map(|worker| engine.checker_on(team, worker))))
}

pub(super) async fn look(
    step: &Step<'_>,
    checker: Checker<'_>,
    from: Option<&Version>,
    allowed: Duration,
) -> Result<Looked> {
    match checker {
        Checker::Here(checker) => look_here(step, checker, from, allowed).await,
        Checker::Elsewhere(checker) => look_elsewhere(step, &checker, from, allowed).await,
    }
}

async fn look_elsewhere(
    step: &Step<'_>,
    checker: &Elsewhere,
    from: Option<&Version>,
    allowed: Duration,
) -> Result<Looked> {
    let guest = match checker.request(&step.check.type_, &step.source, from) {
        Ok(guest) => guest,
        Err(words) => return Ok(Looked::Errored(format!("run check: {words}"))),
    };
    let lodging = Lodging {
        name: checker.name(),
        lifetime: None,
    };
    let program = (checker.image().into(), Executable::Shim, Vec::new());
    let stay = Stay {
        lodging: &lodging,
        guest: &guest,
        // Nothing of this check goes into the container's own step.
        request: &step.call(Map::new()).request_with(step.leaf, program),
        allowed,
    };
    guest::look(step, stay).await
}

async fn look_here(
    step: &Step<'_>,
    checker: &WorkerCheckers,
    from: Option<&Version>,
    allowed: Duration,
) -> Result<Looked> {
    let leaf = step.leaf;
    let build = leaf.interpreter.build;
    let (origin, time) = (leaf.origin(), now().seconds());
    let event = Event::SelectedWorker {
        time,
        origin: origin.clone(),
        selected_worker: checker.worker.to_string(),
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
    let looking = checker.checkers.check(&check);
    let stop = leaf.context.stop.token();
    let Some(checked) = stop.run_until_cancelled(looking).await else {
        let cause = leaf.context.stop.cause().unwrap_or(Cause::Aborted);
        return Ok(Looked::Stopped(cause));
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
    Ok(match checked {
        Ok(checked) if checked.versions.iter().any(Version::is_empty) => {
            Looked::Errored("run check: a version without any key was found".to_owned())
        }
        Ok(checked) => Looked::Found(checked.versions),
        Err(Failure::Failed { .. }) => Looked::Failed,
        Err(Failure::TimedOut { .. }) => Looked::Stopped(Cause::TimedOut),
        Err(failure) => Looked::Errored(format!("run check: {failure}")),
    })
}
