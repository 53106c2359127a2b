//! One job: its builds and what a next one would get.

mod rows;
mod sides;

pub(super) use rows::new_versions;

use airside_auth::Action;
use airside_store::{Build, BuildFilter, BuildPage, Job, Micros, now};
use airside_ui::{
    Crumb, JobLast, JobNext, JobNumbers, JobPage, JobSample, PageStatus, PauseNote, SendButton,
};
use axum::{extract::State, response::Response};

use super::{
    PageRequest,
    links::pipeline_url,
    paging::ListPage,
    place::{api_url, build_url, crumbs, shown_time},
};
use crate::{ApiState, error::Result, page, scope::job_outline};

/// Number of builds whose durations the page compares.
const COMPARED_BUILDS: i64 = 50;
const PARTS: &str = "head,rows,inputs,bar";

pub(crate) async fn show(State(state): State<ApiState>, request: PageRequest) -> Result<Response> {
    let scope = &request.scope;
    let (pipeline, job, now) = (scope.pipeline()?, scope.job()?, now());
    let filters = [BuildFilter {
        job: Some(job.id),
        ..BuildFilter::default()
    }];
    let listed = ListPage::of(&request);
    let mut builds = page::merged(&state.store, &filters, listed.builds()).await?;
    let (newer, older) = page::beyond(&state.store, &filters, &builds).await?;
    let last = if listed.is_first() && listed.limit >= COMPARED_BUILDS {
        builds.clone()
    } else {
        let page = BuildPage {
            limit: COMPARED_BUILDS,
            ..BuildPage::default()
        };
        page::merged(&state.store, &filters, page).await?
    };
    page::hide_people(&state, scope, &mut builds).await?;
    let here = pipeline_url(pipeline, &["jobs", &job.name]);
    let outline = job_outline(job);
    let mut crumbs = crumbs(pipeline);
    crumbs.push(Crumb::new(&job.name, here.clone()));
    let shown = JobPage {
        crumbs,
        id: job.id.0,
        name: job.name.clone(),
        last: last_of(&last, now),
        next: next_of(&last),
        pause: pause_of(job, now),
        blocked: blocked(pipeline.archived, pipeline.paused),
        actions: actions(&request)?,
        numbers: numbers(&last),
        rows: rows::rows(&state, &request, builds, now).await?,
        newer: newer.map(|id| listed.link(&here, "from", id.0)),
        older: older.map(|id| listed.link(&here, "to", id.0)),
        compare: pipeline_url(pipeline, &["jobs", &job.name, "builds"]),
        inputs: sides::inputs(&state, &request, &outline).await?,
        waiting: waiting(&last),
        outputs: sides::outputs(pipeline, &outline),
        caches: sides::caches(&state, &request).await?,
        groups: outline.groups,
    };
    Ok(request.show(&shown.page()))
}

/// Finds the last build that finished, and the first of those that ended like it.
fn last_of(builds: &[Build], now: Micros) -> Option<JobLast> {
    let mut finished = builds.iter().filter(|build| build.ended_at.is_some());
    let last = finished.next()?;
    let same = finished.take_while(|build| build.status == last.status);
    let first = same.last().unwrap_or(last);
    Some(JobLast {
        status: PageStatus::from(last.status),
        since: first.name.clone(),
        when: first.ended_at.map(|at| shown_time(at, now)),
    })
}

fn unfinished(builds: &[Build]) -> Option<&Build> {
    builds.iter().rfind(|build| build.ended_at.is_none())
}

fn next_of(builds: &[Build]) -> Option<JobNext> {
    let next = unfinished(builds)?;
    Some(JobNext {
        status: PageStatus::from(next.status),
        name: next.name.clone(),
        href: build_url(next),
    })
}

/// Returns the name and the address of the build that waits longest.
fn waiting(builds: &[Build]) -> Option<(String, String)> {
    let next = unfinished(builds).filter(|build| build.started_at.is_none())?;
    Some((next.name.clone(), build_url(next)))
}

fn pause_of(job: &Job, now: Micros) -> Option<PauseNote> {
    job.paused.then(|| PauseNote {
        by: job.paused_by.clone(),
        since: job.paused_at.map(|at| shown_time(at, now)),
    })
}

fn blocked(archived: bool, paused: bool) -> Option<String> {
    let why = match (archived, paused) {
        (true, _) => "The pipeline is archived, so its jobs do not run.",
        (false, true) => "The pipeline is paused, so no build of this job starts.",
        (false, false) => return None,
    };
    Some(why.to_owned())
}

fn numbers(builds: &[Build]) -> JobNumbers {
    let finished = builds.iter().filter(|build| build.ended_at.is_some());
    let samples: Vec<_> = finished
        .map(|build| JobSample {
            took: build
                .started_at
                .zip(build.ended_at)
                .map(|(start, end)| end.since(start)),
            waited: build.started_at.map(|start| start.since(build.created_at)),
            succeeded: build.status == airside_model::BuildStatus::Succeeded,
        })
        .collect();
    JobNumbers::of(&samples)
}

/// Returns the buttons to pause and to trigger the job.
fn actions(request: &PageRequest) -> Result<Vec<SendButton>> {
    let (pipeline, job) = (request.scope.pipeline()?, request.scope.job()?);
    let url = |rest: &str| api_url(pipeline, &["jobs", &job.name, rest]);
    let (action, pause) = if job.paused {
        (
            Action::UnpauseJob,
            SendButton::new("PUT", url("unpause"), "Unpause", "i-play"),
        )
    } else {
        (
            Action::PauseJob,
            SendButton::new("PUT", url("pause"), "Pause", "i-pause"),
        )
    };
    let trigger = SendButton::new("POST", url("builds"), "Trigger", "i-plus")
        .class("btn btn-primary")
        .goto("latest");
    let trigger = match job_outline(job).trigger_refusal(&job.name) {
        _ if pipeline.archived => trigger.refused("the pipeline is archived".to_owned()),
        Some(why) => trigger.refused(why),
        None => trigger,
    };
    let offered = [
        request.offer(action, pause.parts(PARTS)),
        request.offer(Action::CreateJobBuild, trigger.parts(PARTS)),
    ];
    Ok(offered.into_iter().flatten().collect())
}
