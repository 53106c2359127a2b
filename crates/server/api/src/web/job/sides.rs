//! The panels beside a job's builds: inputs of the next build, outputs, and caches of tasks.

use std::collections::HashMap;

use airside_auth::Action;
use airside_config::JobOutline;
use airside_store::{PipelineSummary, Resource};
use airside_ui::{CacheRow, NextInputRow, SendButton, type_icon};

use crate::{
    ApiState,
    error::Result,
    web::{PageRequest, links::pipeline_url, place::api_url},
};

/// Returns the inputs that the next build would get, or why it would not; nothing for those who may
/// not ask the API.
pub(super) async fn inputs(
    state: &ApiState,
    request: &PageRequest,
    outline: &JobOutline,
) -> Result<Option<Vec<NextInputRow>>> {
    let scope = &request.scope;
    if !scope.may(Action::ListJobInputs) {
        return Ok(None);
    }
    let (pipeline, job) = (scope.pipeline()?, scope.job()?);
    let resources = state.store.resources(pipeline.id).await?;
    let resources: HashMap<&str, &Resource> = resources
        .iter()
        .map(|resource| (resource.name.as_str(), resource))
        .collect();
    let next = state.store.next_inputs(job.id).await?.unwrap_or_default();
    let mut chosen: HashMap<_, _> = next
        .inputs
        .into_iter()
        .map(|input| (input.name, input.chosen))
        .collect();
    let mut rows = Vec::new();
    for input in &outline.inputs {
        let resource = resources.get(input.resource.as_str());
        let version = match (chosen.remove(&input.name), resource) {
            (Some(Ok((id, _))), Some(resource)) => {
                let version = state.store.version(resource.id, id).await?;
                let gone = || "its version is not there any more".to_owned();
                version.map(|found| found.version).ok_or_else(gone)
            }
            (Some(Err(why)), _) => Err(why),
            _ => Err("not determined yet".to_owned()),
        };
        rows.push(NextInputRow {
            name: input.name.clone(),
            href: pipeline_url(pipeline, &["resources", &input.resource]),
            icon: type_icon(resource.map_or("", |resource| &resource.type_)),
            chosen: version,
            passed: input.passed.clone(),
        });
    }
    Ok(Some(rows))
}

/// Returns the resources that the job puts: their names and addresses.
pub(super) fn outputs(pipeline: &PipelineSummary, outline: &JobOutline) -> Vec<(String, String)> {
    let outputs = outline.outputs.iter();
    let shown = outputs.map(|output| {
        let href = pipeline_url(pipeline, &["resources", &output.resource]);
        (output.name.clone(), href)
    });
    shown.collect()
}

/// Returns the folders that tasks of the job keep, for members of the team.
pub(super) async fn caches(state: &ApiState, request: &PageRequest) -> Result<Vec<CacheRow>> {
    let scope = &request.scope;
    if !scope.is_insider() {
        return Ok(Vec::new());
    }
    let (pipeline, job) = (scope.pipeline()?, scope.job()?);
    let caches = state.store.task_caches(pipeline.id).await?;
    let own = caches.into_iter().filter(|cache| cache.job == job.name);
    let rows = own.map(|cache| {
        let url = api_url(
            pipeline,
            &["jobs", &job.name, "tasks", &cache.step, "cache"],
        );
        let mut path = url::form_urlencoded::Serializer::new(String::new());
        path.append_pair("cache_path", &cache.path);
        let joint = if url.contains('?') { '&' } else { '?' };
        let url = format!("{url}{joint}{}", path.finish());
        let question = format!("Clear {} of task {}?", cache.path, cache.step);
        let clear = SendButton::small("DELETE", url, "Clear", "i-trash")
            .parts("inputs")
            .confirm(question);
        CacheRow {
            clear: request.offer(Action::ClearTaskCache, clear),
            step: cache.step,
            path: cache.path,
        }
    });
    Ok(rows.collect())
}
