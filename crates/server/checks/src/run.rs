//! One check that the loop runs: by a [`CheckRunner`], or as a build that is not listed.

use std::{sync::Arc, time::Instant};

use airside_check_process::{Check, Failure, Freshness};
use airside_model::{BuildStatus, PlanId, Version, chain};
use airside_store::{CheckFrom, CheckReason, LastCheck, NewCheck, SavedVersions, now};
use airside_vars::Secrets;
use serde_json::{Map, Value};
use tracing::error;

use crate::{CheckAnswer, CheckRunner, Parts, spec::Spec};

/// The end of a check that ran without a build.
pub(crate) struct CheckEnd {
    pub(crate) last: LastCheck,
    pub(crate) status: BuildStatus,
    pub(crate) has_versions: bool,
    pub(crate) output: String,
    /// The reason why it erred.
    pub(crate) error: Option<String>,
}

pub(crate) enum CheckRan {
    Ended(Box<CheckEnd>),
    /// The check ran as a build, whose end the engine has noted.
    AsBuild,
    /// The worker for it takes no steps now; the check is tried again when it is due the next time.
    Away,
    /// The check has no end that counts: its resource is gone or changed, or the server failed.
    Void,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Store(#[from] airside_store::Error),
    #[error(transparent)]
    Panicked(#[from] airside_tasks::Panicked),
}

/// Runs a check after `failures` that failed in a row.
pub(crate) async fn run(
    parts: &Arc<Parts>,
    spec: &Spec,
    failures: u32,
    freshness: Freshness,
) -> Result<CheckRan, Error> {
    let Some(from) = parts.store.check_from(spec.id).await? else {
        return Ok(CheckRan::Void);
    };
    let Some(definition) = spec.definition() else {
        return Ok(CheckRan::Void);
    };
    let team = &spec.home.pipeline.team_name;
    let Some(way) = parts.ways.for_due(team, &definition.tags, spec.native) else {
        return Ok(CheckRan::Away);
    };
    let Some(runner) = way.runner() else {
        return as_build(parts, spec, freshness).await;
    };
    let started_at = now();
    let secrets = Secrets::default();
    let filled = airside_tasks::caught("check", hidden_source(parts, spec, &secrets)).await;
    let looked = match filled.unwrap_or_else(|_| Err(fault(spec))) {
        Err(words) => Err(Trouble::Error(words, String::new())),
        Ok(source) => {
            let check = Check {
                team: team.clone(),
                type_: definition.type_.clone(),
                source,
                from: from.version.clone(),
                timeout: spec.timeout,
                freshness,
            };
            match run_without_build(parts, spec, runner, &check).await {
                CheckAnswer::Ended(checked) => checked
                    .map(|checked| (checked.versions, checked.output))
                    .map_err(Trouble::from),
                CheckAnswer::Unplaced(ticket) => {
                    parts.metrics.check_became_build();
                    let ran = as_build(parts, spec, freshness).await;
                    // Only now: checks that wait for the container need not become builds too.
                    drop(ticket);
                    return ran;
                }
            }
        }
    };
    let mut end = CheckEnd {
        last: LastCheck {
            scope: from.scope,
            started_at,
            ended_at: now(),
            failures: 0,
        },
        status: BuildStatus::Succeeded,
        // A pinned version is where to look from, even if no check has found it.
        has_versions: spec.pin.is_none() && from.version.is_some(),
        output: String::new(),
        error: None,
    };
    match looked {
        Ok((versions, output)) => {
            end.output = output;
            end.has_versions |= !versions.is_empty();
            if save(parts, spec, &from, versions).await? == SavedVersions::Outdated {
                return Ok(CheckRan::Void);
            }
        }
        Err(trouble) => {
            end.last.failures = failures.saturating_add(1);
            (end.status, end.error, end.output) = trouble.shown();
        }
    }
    end.output = secrets.redact(&end.output);
    end.error = end.error.map(|words| secrets.redact(&words));
    Ok(CheckRan::Ended(Box::new(end)))
}

/// Runs a check where it needs no build, and counts it. A panic ends this check alone.
async fn run_without_build(
    parts: &Parts,
    spec: &Spec,
    runner: &dyn CheckRunner,
    check: &Check,
) -> CheckAnswer {
    parts.metrics.check_started();
    let began = Instant::now();
    let checked = match airside_tasks::caught("check", runner.run(check)).await {
        Ok(CheckAnswer::Ended(checked)) => checked,
        Ok(unplaced) => return unplaced,
        Err(_) => Err(Failure::Broken {
            why: fault(spec),
            output: String::new(),
        }),
    };
    parts
        .metrics
        .native_check_took(&check.type_, began.elapsed());
    parts.metrics.check_ended(match &checked {
        Ok(_) => BuildStatus::Succeeded,
        Err(Failure::Failed { .. } | Failure::TimedOut { .. }) => BuildStatus::Failed,
        Err(_) => BuildStatus::Errored,
    });
    CheckAnswer::Ended(checked)
}

/// Returns the words that people see of a check that panicked. The panic's own words stay in the
/// log: they may hold a secret.
fn fault(spec: &Spec) -> String {
    error!(resource = %spec.id, "check errored: a panic ended it");
    let resource = spec.id;
    format!(
        "a fault in Airside ended this check; the server's log has a line on it that names \
         resource {resource}"
    )
}

enum Trouble {
    /// The resource type failed the check.
    Failed(String),
    TimedOut(String),
    /// The message, and the output until then.
    Error(String, String),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Failed { output } => Self::Failed(output),
            Failure::TimedOut { output } => Self::TimedOut(output),
            other => Self::Error(format!("run check: {other}"), other.output().to_owned()),
        }
    }
}

impl Trouble {
    /// Returns the status, the error and the output that people see.
    fn shown(self) -> (BuildStatus, Option<String>, String) {
        match self {
            Self::Failed(output) => (BuildStatus::Failed, None, output),
            Self::TimedOut(output) => {
                let words = "timeout exceeded".to_owned();
                (BuildStatus::Failed, Some(words), output)
            }
            Self::Error(words, output) => (BuildStatus::Errored, Some(words), output),
        }
    }
}

/// Returns the source with its variables filled in and the values that were looked up for that, or
/// an error that names variables without a value.
async fn source(parts: &Parts, spec: &Spec) -> Result<(Map<String, Value>, Vec<Value>), String> {
    let source = spec.source();
    if !spec.has_variables {
        return Ok((source, Vec::new()));
    }
    let home = &spec.home;
    let source = Value::Object(source);
    match parts.fill(&home.pipeline, &home.config, source).await {
        Ok((Value::Object(source), secrets)) => Ok((source, secrets)),
        Ok((_, secrets)) => Ok((Map::new(), secrets)),
        Err(error) => Err(format!(
            "resource config creds evaluation: {}",
            chain(&error)
        )),
    }
}

/// Returns the source, once the values that were looked up for it are among the secrets.
async fn hidden_source(
    parts: &Parts,
    spec: &Spec,
    secrets: &Secrets,
) -> Result<Map<String, Value>, String> {
    let (source, looked_up) = source(parts, spec).await?;
    let mut looked_up = looked_up.iter();
    let hidden = looked_up.try_for_each(|value| secrets.add(value));
    hidden.map_err(|too_much| format!("resource config creds evaluation: {too_much}"))?;
    Ok(source)
}

async fn save(
    parts: &Parts,
    spec: &Spec,
    from: &CheckFrom,
    versions: Vec<Version>,
) -> Result<SavedVersions, Error> {
    // The commonest answer by far: the newest version is still the same.
    let newest = from.version.as_ref().filter(|_| spec.pin.is_none());
    if versions.is_empty() || Some(versions.as_slice()) == newest.map(std::slice::from_ref) {
        return Ok(SavedVersions::NothingNew);
    }
    let versions: Vec<_> = versions
        .into_iter()
        .map(|version| (version, Vec::new()))
        .collect();
    Ok(parts.store.save_versions(spec.id, from, &versions).await?)
}

/// Runs the check as a build, and waits for its end.
async fn as_build(parts: &Parts, spec: &Spec, freshness: Freshness) -> Result<CheckRan, Error> {
    let home = &spec.home;
    let Some(definition) = spec.definition() else {
        return Ok(CheckRan::Void);
    };
    let id = PlanId::new("1");
    let options = airside_config::CheckOptions {
        // The engine says from which version: it knows the image.
        skip_interval: freshness == Freshness::FromNow,
        ..airside_config::CheckOptions::default()
    };
    // A check that cannot be planned was refused when its pipeline was set.
    let Ok(plan) = airside_config::check_plan(id, definition, &home.config, options) else {
        return Ok(CheckRan::Void);
    };
    let check = NewCheck {
        team: home.pipeline.team,
        pipeline: home.pipeline.id,
        resource: Some(spec.id),
        plan: &plan,
        reason: CheckReason::Due,
    };
    let (_, driven) = parts.builds.start_check(check).await?;
    // The store knows how the build ended.
    let _ = driven.await;
    Ok(CheckRan::AsBuild)
}
