//! One check that nobody asked for by name: by the team's checker, or as a build that is not listed.

use std::{sync::Arc, time::Instant};

use airside_check_process::{Check, Failure, Freshness};
use airside_engine::Answer;
use airside_model::{BuildStatus, PlanId, Version};
use airside_store::{CheckFrom, CheckReason, Found, LastCheck, NewCheck, now};
use airside_vars::Secrets;
use serde_json::{Map, Value};
use tracing::error;

use crate::{Parts, spec::Spec};

/// What a check came to.
pub(crate) struct Ended {
    pub(crate) last: LastCheck,
    pub(crate) status: BuildStatus,
    pub(crate) has_versions: bool,
    pub(crate) output: String,
    /// Why it erred.
    pub(crate) error: Option<String>,
}

pub(crate) enum Ran {
    Ended(Box<Ended>),
    /// As a build, which the engine has noted.
    AsBuild,
    /// The worker for it takes no steps now; it is looked for again when it is due the next time.
    Away,
    /// It has no end that counts: its resource is gone or another by now, or the server could not.
    Void,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Store(#[from] airside_store::Error),
    #[error(transparent)]
    Engine(#[from] airside_engine::Error),
    #[error(transparent)]
    Panicked(#[from] airside_tasks::Panicked),
}

/// Runs a check. `failures` is how many failed before it.
pub(crate) async fn run(
    parts: &Arc<Parts>,
    spec: &Spec,
    failures: u32,
    freshness: Freshness,
) -> Result<Ran, Error> {
    let Some(from) = parts.store.check_from(spec.id).await? else {
        return Ok(Ran::Void);
    };
    let Some(definition) = spec.definition() else {
        return Ok(Ran::Void);
    };
    let team = &spec.home.pipeline.team_name;
    if parts.engine.would_wait(team, &definition.tags) {
        return Ok(Ran::Away);
    }
    let checker = parts.engine.checker(team, &definition.tags);
    let Some(checker) = checker.filter(|_| spec.native) else {
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
            parts.metrics.check_started();
            let began = Instant::now();
            let answered = airside_tasks::caught("check", checker.check(&check)).await;
            let checked = match answered {
                Ok(Answer::Ended(checked)) => checked,
                Err(_) => Err(Failure::Broken {
                    why: fault(spec),
                    output: String::new(),
                }),
                Ok(Answer::Unplaced(ticket)) => {
                    parts.metrics.check_became_build();
                    let ran = as_build(parts, spec, freshness).await;
                    // Only now: those who wait for the checker need not become builds too.
                    drop(ticket);
                    return ran;
                }
            };
            parts
                .metrics
                .native_check_took(&check.type_, began.elapsed());
            parts.metrics.check_ended(match &checked {
                Ok(_) => BuildStatus::Succeeded,
                Err(Failure::Failed { .. } | Failure::TimedOut { .. }) => BuildStatus::Failed,
                Err(_) => BuildStatus::Errored,
            });
            checked
                .map(|checked| (checked.versions, checked.output))
                .map_err(Trouble::from)
        }
    };
    let mut ended = Ended {
        last: LastCheck {
            scope: from.scope,
            started_at,
            ended_at: now(),
            failures: 0,
        },
        status: BuildStatus::Succeeded,
        // A pin is where to look from, whether anybody has seen it or not.
        has_versions: spec.pin.is_none() && from.version.is_some(),
        output: String::new(),
        error: None,
    };
    match looked {
        Ok((versions, output)) => {
            ended.output = output;
            ended.has_versions |= !versions.is_empty();
            if save(parts, spec, &from, versions).await? == Found::Outdated {
                return Ok(Ran::Void);
            }
        }
        Err(trouble) => {
            ended.last.failures = failures.saturating_add(1);
            (ended.status, ended.error, ended.output) = trouble.told();
        }
    }
    ended.output = secrets.redact(&ended.output);
    ended.error = ended.error.map(|words| secrets.redact(&words));
    Ok(Ran::Ended(Box::new(ended)))
}

/// The words that people see of a check that panicked. The panic's own stay in the log: they may hold a secret.
fn fault(spec: &Spec) -> String {
    error!(resource = %spec.id, "the panic ends the check, which errs");
    let resource = spec.id;
    format!(
        "a fault in Airside ended this check; the server's log has a line on it that names resource {resource}"
    )
}

enum Trouble {
    /// The type said no.
    Failed(String),
    TimedOut(String),
    /// Words, and output until then.
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
    /// The status, the error and the output that people see.
    fn told(self) -> (BuildStatus, Option<String>, String) {
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

/// The source with its variables filled in and what was looked up for that, or which have no value.
async fn source(parts: &Parts, spec: &Spec) -> Result<(Map<String, Value>, Vec<Value>), String> {
    let source = spec.source();
    if !spec.has_variables {
        return Ok((source, Vec::new()));
    }
    let home = &spec.home;
    let filled = parts
        .engine
        .fill(&home.pipeline, &home.config, Value::Object(source))
        .await;
    match filled {
        Ok((Value::Object(source), secrets)) => Ok((source, secrets)),
        Ok((_, secrets)) => Ok((Map::new(), secrets)),
        Err(error) => Err(format!("resource config creds evaluation: {error}")),
    }
}

/// The source, once what was looked up for it is among the secrets.
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
) -> Result<Found, Error> {
    // The commonest answer by far: what was the newest still is.
    let newest = from.version.as_ref().filter(|_| spec.pin.is_none());
    if versions.is_empty() || Some(versions.as_slice()) == newest.map(std::slice::from_ref) {
        return Ok(Found::NothingNew);
    }
    let versions: Vec<_> = versions
        .into_iter()
        .map(|version| (version, Vec::new()))
        .collect();
    Ok(parts.store.save_versions(spec.id, from, &versions).await?)
}

/// In its image, as the engine does it.
async fn as_build(parts: &Parts, spec: &Spec, freshness: Freshness) -> Result<Ran, Error> {
    let home = &spec.home;
    let Some(definition) = spec.definition() else {
        return Ok(Ran::Void);
    };
    let id = PlanId::new("1");
    let options = airside_config::CheckOptions {
        // From where is the engine's to say: it knows the image.
        skip_interval: freshness == Freshness::FromNow,
        ..airside_config::CheckOptions::default()
    };
    // One that cannot be planned was refused when its pipeline was set.
    let Ok(plan) = airside_config::check_plan(id, definition, &home.config, options) else {
        return Ok(Ran::Void);
    };
    let check = NewCheck {
        team: home.pipeline.team,
        pipeline: home.pipeline.id,
        resource: Some(spec.id),
        plan: &plan,
        reason: CheckReason::Due,
    };
    let (_, driven) = parts.engine.check(check).await?;
    // Whatever became of it, the store knows.
    let _ = driven.await;
    Ok(Ran::AsBuild)
}
