//! One pipeline: its graph, or its outline.

mod groups;

use std::collections::{HashMap, HashSet};

use airside_auth::Action;
use airside_config::ResourceOutline;
use airside_model::{BuildStatus, ResourceId};
use airside_store::{
    BuildBrief, CheckSummary, ChecksOf, JobOverview, JobsOf, Micros, PipelineSummary, Resource, now,
};
use airside_ui::{
    PageStatus, PauseNote, PipelineInput, PipelineJob, PipelinePage, PipelineResource, RowTime,
    SendButton, type_icon,
};
use axum::{extract::State, response::Response};

use super::{
    PageRequest,
    links::pipeline_url,
    place::{api_url, crumbs, shown_time, vars_text},
};
use crate::{ApiState, error::Result, scope::job_outline};
use groups::ShownGroups;

const PARTS: &str = "head,graph,outline";

pub(crate) async fn show(State(state): State<ApiState>, request: PageRequest) -> Result<Response> {
    let (pipeline, now) = (request.scope.pipeline()?, now());
    let groups = ShownGroups::of(pipeline, &request);
    let jobs = state
        .store
        .job_overviews(JobsOf::Pipeline(pipeline.id))
        .await?;
    let resources = state.store.resources(pipeline.id).await?;
    let checks = state
        .store
        .check_summaries(ChecksOf::Pipeline(pipeline.id))
        .await?;
    let checks: HashMap<ResourceId, CheckSummary> = checks.into_iter().collect();
    let jobs: Vec<PipelineJob> = jobs
        .iter()
        .filter_map(|job| shown_job(pipeline, job, &groups, now))
        .collect();
    let used = used_resources(&jobs);
    let resources = resources
        .iter()
        .filter(|resource| used.contains(resource.name.as_str()))
        .map(|resource| shown_resource(pipeline, resource, checks.get(&resource.id)))
        .collect();
    let page = PipelinePage {
        crumbs: crumbs(pipeline),
        id: pipeline.id.0,
        team: pipeline.team_name.clone(),
        name: pipeline.name.clone(),
        vars: vars_text(&pipeline.instance_vars),
        pause: pause_of(pipeline, now),
        archived: pipeline.archived,
        actions: actions(&request, pipeline),
        is_outline: request.query("view").is_some_and(|view| view == "outline"),
        views: groups.views(),
        config: None,
        groups: groups.tabs(),
        jobs,
        resources,
    };
    Ok(request.show(&page.page()))
}

fn pause_of(pipeline: &PipelineSummary, now: Micros) -> Option<PauseNote> {
    (pipeline.paused && !pipeline.archived).then(|| PauseNote {
        by: pipeline.paused_by.clone(),
        since: pipeline.paused_at.map(|at| shown_time(at, now)),
    })
}

/// Returns the buttons to pause and expose the pipeline.
fn actions(request: &PageRequest, pipeline: &PipelineSummary) -> Vec<SendButton> {
    if pipeline.archived {
        return Vec::new();
    }
    let put =
        |rest: &str, text, icon| SendButton::new("PUT", api_url(pipeline, &[rest]), text, icon);
    let pause = if pipeline.paused {
        (Action::UnpausePipeline, put("unpause", "Unpause", "i-play"))
    } else {
        (Action::PausePipeline, put("pause", "Pause", "i-pause"))
    };
    let expose = if pipeline.public {
        (Action::HidePipeline, put("hide", "Hide", "i-eye-off"))
    } else {
        (Action::ExposePipeline, put("expose", "Expose", "i-eye"))
    };
    let offered = [expose, pause].into_iter();
    offered
        .filter_map(|(action, button)| request.offer(action, button.parts(PARTS)))
        .collect()
}

/// Returns the job as the graph shows it, unless no shown group has it.
fn shown_job(
    pipeline: &PipelineSummary,
    overview: &JobOverview,
    groups: &ShownGroups<'_>,
    now: Micros,
) -> Option<PipelineJob> {
    let job = &overview.job;
    let outline = job_outline(job);
    if !groups.show(&outline.groups) {
        return None;
    }
    let (next, finished) = (overview.next.as_ref(), overview.finished.as_ref());
    let shown = next.or(finished);
    let job_href = pipeline_url(pipeline, &["jobs", &job.name]);
    let href =
        shown.map(|build| pipeline_url(pipeline, &["jobs", &job.name, "builds", &build.name]));
    let status = match finished {
        _ if job.paused => PageStatus::Paused,
        Some(build) => PageStatus::from(build.status),
        None => PageStatus::Pending,
    };
    Some(PipelineJob {
        id: job.id.0,
        name: job.name.clone(),
        href: href.unwrap_or_else(|| job_href.clone()),
        job_href,
        status,
        running: next.map(|build| PageStatus::from(build.status)),
        build: shown.map(|build| build.name.clone()),
        took: shown.map_or(RowTime::None, |build| took(build, now)),
        inputs: outline
            .inputs
            .into_iter()
            .map(|input| PipelineInput {
                resource: input.resource,
                passed: input.passed,
                trigger: input.trigger,
            })
            .collect(),
        outputs: outline
            .outputs
            .into_iter()
            .map(|output| output.resource)
            .collect(),
    })
}

fn took(build: &BuildBrief, now: Micros) -> RowTime {
    let started = build.started_at.map(Micros::seconds);
    RowTime::between(started, build.ended_at.map(Micros::seconds), now.seconds())
}

fn used_resources(jobs: &[PipelineJob]) -> HashSet<&str> {
    let inputs = jobs.iter().flat_map(|job| &job.inputs);
    let outputs = jobs.iter().flat_map(|job| &job.outputs);
    let inputs = inputs.map(|input| input.resource.as_str());
    inputs.chain(outputs.map(String::as_str)).collect()
}

fn shown_resource(
    pipeline: &PipelineSummary,
    resource: &Resource,
    check: Option<&CheckSummary>,
) -> PipelineResource {
    let outline: ResourceOutline = serde_json::from_str(&resource.outline).unwrap_or_default();
    let build = check.and_then(|check| check.build);
    let failed = [BuildStatus::Failed, BuildStatus::Errored];
    PipelineResource {
        href: pipeline_url(pipeline, &["resources", &resource.name]),
        name: resource.name.clone(),
        icon: type_icon(&resource.type_),
        is_pinned: resource.pin.is_some() || outline.version.is_some(),
        is_failing: build.is_some_and(|build| failed.contains(&build.status)),
    }
}
