//! From a pending build to its plan: which version of each input, then the plan factory.
//!
//! For now a manual build takes the latest version that a check finds on the spot. Native types are
//! checked in this process; types of the pipeline's own in their image, as a step before the first.

use std::collections::BTreeMap;

use airside_config::{Config, Job, JobInput, Resource, VersionSpec};
use airside_model::{Plan, PlanId, Version};
use airside_resources::{CheckRequest, Privilege};
use airside_store::Pipeline;
use serde_json::{Map, Value};

use crate::{Result, interpret::Interpreter, scope::Context, status::Status};

/// The plan, or the words for why there can be none.
pub(crate) async fn plan(
    interpreter: &Interpreter<'_>,
    context: &Context,
) -> Result<Result<Plan, String>> {
    let (store, build) = (&interpreter.engine.parts.store, interpreter.build);
    let Some(pipeline) = (match build.pipeline {
        Some(id) => store.pipeline_by_id(id).await?,
        None => None,
    }) else {
        return Ok(Err("the build's pipeline is gone".to_owned()));
    };
    let config: Config = match serde_json::from_value(pipeline.config.clone()) {
        Ok(config) => config,
        Err(error) => {
            return Ok(Err(format!(
                "the stored configuration cannot be read: {error}"
            )));
        }
    };
    let name = build.job_name.as_deref().unwrap_or_default();
    let Some(job) = config.job(name) else {
        return Ok(Err(format!("the pipeline has no job `{name}` any more")));
    };
    let mut versions = BTreeMap::new();
    for input in airside_config::inputs(job) {
        match resolve(interpreter, context, &pipeline, &config, &input).await? {
            Ok(version) => versions.insert(input.name, version),
            Err(words) => return Ok(Err(format!("input `{}`: {words}", input.name))),
        };
    }
    Ok(airside_config::plan(job, &config, &versions).map_err(|error| error.to_string()))
}

/// The jobs whose builds count against a job's limit, and the limit; `None` if it has none.
pub(crate) fn line(pipeline: &Pipeline, name: &str) -> Option<(Vec<String>, u32)> {
    let config: Config = serde_json::from_value(pipeline.config.clone()).ok()?;
    let job = config.job(name)?;
    let limit = job.max_in_flight()?;
    let shares = |other: &&Job| {
        other.name == name
            || other
                .serial_groups
                .iter()
                .any(|g| job.serial_groups.contains(g))
    };
    let line = config
        .jobs
        .iter()
        .filter(shares)
        .map(|job| job.name.clone())
        .collect();
    Some((line, limit))
}

async fn resolve(
    interpreter: &Interpreter<'_>,
    context: &Context,
    pipeline: &Pipeline,
    config: &Config,
    input: &JobInput,
) -> Result<Result<Version, String>> {
    let store = &interpreter.engine.parts.store;
    if !input.passed.is_empty() {
        return Ok(Err(
            "`passed` is not supported by this version of Airside".to_owned()
        ));
    }
    if let VersionSpec::Pinned(version) = &input.version {
        return Ok(Ok(version.clone()));
    }
    let Some(resource) = config.resource(&input.resource) else {
        return Ok(Err(format!("there is no resource `{}`", input.resource)));
    };
    if let Some(version) = &resource.version {
        return Ok(Ok(version.clone()));
    }
    let Some(row) = store.resource(pipeline.id, &input.resource).await? else {
        return Ok(Err(format!("there is no resource `{}`", input.resource)));
    };
    let known = store
        .latest_version(row.id)
        .await?
        .map(|(_, version)| version);
    let found = if config.resource_type(&resource.type_).is_some() {
        check_as_step(interpreter, context, config, resource, known).await?
    } else {
        check_natively(interpreter, resource, known).await
    };
    match found {
        Ok(versions) => {
            let found = versions.into_iter().map(|version| (version, Vec::new()));
            store
                .save_versions(row.id, &found.collect::<Vec<_>>())
                .await?;
        }
        Err(words) => return Ok(Err(words)),
    }
    let latest = store.latest_version(row.id).await?;
    Ok(latest
        .map(|(_, version)| version)
        .ok_or_else(|| "no versions available".to_owned()))
}

/// A check in this process.
async fn check_natively(
    interpreter: &Interpreter<'_>,
    resource: &Resource,
    known: Option<Version>,
) -> Result<Vec<Version>, String> {
    let source = Value::Object(resource.source.clone().unwrap_or_default());
    let filled = interpreter.variables.fill(source, None).await;
    let source = match filled.map_err(|error| error.to_string())?.0 {
        Value::Object(source) => source,
        _ => Map::new(),
    };
    let request = CheckRequest {
        source,
        version: known,
    };
    let type_ = resource.type_.clone();
    let checked = tokio::task::spawn_blocking(move || {
        let mut log = Vec::new();
        airside_resources::check(&type_, request, Privilege::Unprivileged, &mut log)
    });
    match checked.await {
        Ok(Ok(versions)) => Ok(versions),
        Ok(Err(failure)) => Err(format!("its check failed: {failure}")),
        Err(_) => Err("its check crashed".to_owned()),
    }
}

/// A check in an image of the pipeline's own, as a step of the build.
async fn check_as_step(
    interpreter: &Interpreter<'_>,
    context: &Context,
    config: &Config,
    resource: &Resource,
    known: Option<Version>,
) -> Result<Result<Vec<Version>, String>> {
    let id = PlanId::new(format!("check/{}", resource.name));
    let plan = match airside_config::check_plan(id, resource, config, known) {
        Ok(plan) => plan,
        Err(error) => return Ok(Err(error.to_string())),
    };
    Ok(match interpreter.run(&plan, context.clone()).await? {
        Status::Succeeded => Ok(interpreter.version(&plan.id).into_iter().collect()),
        Status::Failed => Err("its check failed".to_owned()),
        _ => {
            let errors = interpreter.errors(&plan).join("; ");
            Err(format!("its check ended in error: {errors}"))
        }
    })
}
