//! From a pending build to its plan: which version of each input, then the plan factory.
//!
//! For now a manual build takes the latest version that a check finds on the spot, and only native
//! types that need no network are checked here.

use std::collections::BTreeMap;

use airside_config::{Config, Job, JobInput, VersionSpec};
use airside_model::{Plan, Version};
use airside_resources::{CheckRequest, Privilege};
use airside_store::{Build, Pipeline, Store};
use serde_json::{Map, Value};

use crate::{Result, variables::PipelineVariables};

/// The plan, or the words for why there can be none.
pub(crate) async fn plan(
    store: &Store,
    build: &Build,
    variables: &PipelineVariables,
) -> Result<Result<Plan, String>> {
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
        match resolve(store, &pipeline, &config, &input, variables).await? {
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
    store: &Store,
    pipeline: &Pipeline,
    config: &Config,
    input: &JobInput,
    variables: &PipelineVariables,
) -> Result<Result<Version, String>> {
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
    if config.resource_type(&resource.type_).is_some() {
        return Ok(Err(
            "checking a resource type of the pipeline's own is not supported by this version of Airside"
                .to_owned(),
        ));
    }
    let source = Value::Object(resource.source.clone().unwrap_or_default());
    let source = match variables.fill(source, None).await {
        Ok((Value::Object(source), _)) => source,
        Ok(_) => Map::new(),
        Err(error) => return Ok(Err(error.to_string())),
    };
    let Some(row) = store.resource(pipeline.id, &input.resource).await? else {
        return Ok(Err(format!("there is no resource `{}`", input.resource)));
    };
    let known = store
        .latest_version(row.id)
        .await?
        .map(|(_, version)| version);
    let request = CheckRequest {
        source,
        version: known.clone(),
    };
    let type_ = resource.type_.clone();
    let checked = tokio::task::spawn_blocking(move || {
        let mut log = Vec::new();
        airside_resources::check(&type_, request, Privilege::Unprivileged, &mut log)
    });
    match checked.await {
        Ok(Ok(versions)) => {
            let found: Vec<_> = versions
                .into_iter()
                .map(|version| (version, Vec::new()))
                .collect();
            store.save_versions(row.id, &found).await?;
        }
        Ok(Err(failure)) => return Ok(Err(format!("its check failed: {failure}"))),
        Err(_) => return Ok(Err("its check crashed".to_owned())),
    }
    let latest = store.latest_version(row.id).await?;
    Ok(latest
        .map(|(_, version)| version)
        .ok_or_else(|| "no versions available".to_owned()))
}
