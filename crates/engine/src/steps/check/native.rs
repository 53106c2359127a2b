//! A check by the team's checker, which costs no container.

use std::time::{Duration, Instant};

use airside_checker::{Check, Failure, Freshness};
use airside_model::{
    Version,
    event::{Event, Source},
    plan::CheckPlan,
};
use airside_store::now;

use super::{Looked, Step};
use crate::{Result, WorkerCheckers, leaf::Leaf, status::Cause};

/// Whether a checker answers: the type is ours, and the worker that would be chosen has one.
pub(super) fn serves(leaf: Leaf<'_>, check: &CheckPlan) -> bool {
    airside_resources::is_native(&check.type_) && checker(leaf, check).is_some()
}

fn checker<'a>(leaf: Leaf<'a>, check: &CheckPlan) -> Option<&'a WorkerCheckers> {
    let engine = leaf.interpreter.engine;
    // Whoever pulls it, an image's version is looked for from here: that is worth no pod.
    if check.resource.is_empty() && check.type_ == "registry-image" {
        return engine.parts.checkers.as_ref();
    }
    engine.checker(&leaf.interpreter.build.team_name, &check.tags)
}

pub(super) async fn look(
    step: &Step<'_>,
    from: Option<&Version>,
    allowed: Duration,
) -> Result<Looked> {
    let leaf = step.leaf;
    let build = leaf.interpreter.build;
    let Some(checker) = checker(leaf, step.check) else {
        return Ok(Looked::Errored("there is no checker".to_owned()));
    };
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
