//! One build: its neighbours, its head, its steps, and the sections beside them.
//!
//! Steps, output and comments are for those who may see the build's output; inputs and outputs for
//! all who may see the pipeline, as in the API.

mod compare;
mod head;
mod inputs;
mod picture;
mod tabs;
mod waiting;

use airside_model::BuildStatus;
use airside_store::{Build, BuildFilter, BuildPage as Range, BuildVersions, now};
use airside_ui::{BuildPage, BuildSection, BuildSteps, Crumb, timeline};
use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use http::StatusCode;

use super::{PageRequest, links::pipeline_url};
use crate::{
    ApiState,
    error::{ApiError, Result},
    journey::redirect,
};

/// The build that a page is about, and what its parts share.
struct ShownBuild<'a> {
    state: &'a ApiState,
    request: &'a PageRequest,
    build: &'a Build,
    versions: BuildVersions,
    sees_output: bool,
}

pub(crate) async fn show(State(state): State<ApiState>, request: PageRequest) -> Result<Response> {
    if request.scope.build().is_err() && request.uri.path().ends_with("/builds/latest") {
        return latest(&state, &request).await;
    }
    let build = request.scope.build()?;
    let shown = ShownBuild {
        state: &state,
        request: &request,
        build,
        versions: state.store.build_versions(build.id).await?,
        sees_output: request.scope.sees_output()?,
    };
    Ok(request.show(&shown.page().await?.page()))
}

/// Leads to the newest build of the job.
async fn latest(state: &ApiState, request: &PageRequest) -> Result<Response> {
    let job = request.scope.job()?;
    let filter = BuildFilter {
        job: Some(job.id),
        ..BuildFilter::default()
    };
    let builds = state.store.builds(&filter, Range::default()).await?;
    let newest = builds.iter().max_by_key(|build| build.id);
    let newest = newest.ok_or(ApiError::NotFound)?;
    let address = ["jobs", &job.name, "builds", &newest.name];
    let address = pipeline_url(request.scope.pipeline()?, &address);
    Ok(redirect(StatusCode::SEE_OTHER, &address).into_response())
}

impl ShownBuild<'_> {
    async fn page(&self) -> Result<BuildPage> {
        let name = self.request.query("tab").unwrap_or_default();
        let section = BuildSection::from_name(&name);
        let picture = self.picture().await?;
        let context = self.context();
        let steps = BuildSteps {
            picture: &picture,
            status: self.build.status,
            context,
            notice: self.notice(),
        };
        let (tabs, green) = self.tabs().await?;
        let beside = self.beside(green).await?;
        let content = match (section, &beside) {
            (BuildSection::Inputs, _) => self.inputs().rendered(),
            (BuildSection::Timeline, _) if self.sees_output => {
                timeline(&picture, self.build.status, &steps.context)
            }
            (BuildSection::Compare, Some(other)) => self.compared(other, &picture).await?,
            _ if self.waits() => self.waiting().await?.rendered(),
            _ => steps.rendered(),
        };
        let build = self.build;
        Ok(BuildPage {
            id: build.id.0,
            name: build.name.clone(),
            team: build.team_name.clone(),
            pipeline: build.pipeline_name.clone(),
            job: build.job_name.clone(),
            job_id: build.job.map(|job| job.0),
            crumbs: self.crumbs(),
            url: self.url_of(build),
            tabs,
            head: self.head(steps.reason().filter(|_| self.sees_output)),
            section,
            compared_with: beside.map(|other| (other.name.clone(), other.status.into())),
            sees_output: self.sees_output,
            content,
        })
    }

    /// Returns true if the reasons why the build waits stand in the place of its steps.
    fn waits(&self) -> bool {
        self.sees_output && self.build.status == BuildStatus::Pending
    }

    /// Returns the sentence above the steps, or instead of them.
    fn notice(&self) -> Option<String> {
        if !self.sees_output {
            let who = "The steps and the output of this job are for members of its team.";
            return Some(who.to_owned());
        }
        let removed = self.build.reaped_at?;
        let age = airside_ui::age_text(now().since(removed));
        Some(format!(
            "The log of this build was removed {age} ago, as the retention of build logs says."
        ))
    }

    /// Returns the address of a build's page: under its job, if it has one.
    fn url_of(&self, build: &Build) -> String {
        let within = self.request.scope.pipeline().ok();
        match (within, &build.job_name) {
            (Some(pipeline), Some(job)) => {
                pipeline_url(pipeline, &["jobs", job, "builds", &build.name])
            }
            _ => format!("/builds/{}", build.id),
        }
    }

    fn crumbs(&self) -> Vec<Crumb> {
        let build = self.build;
        let mut crumbs = vec![Crumb::new(
            &build.team_name,
            format!(
                "/?search={}",
                url::form_urlencoded::byte_serialize(
                    format!("team:\"{}\"", build.team_name).as_bytes(),
                )
                .collect::<String>()
            ),
        )];
        if let Ok(pipeline) = self.request.scope.pipeline() {
            let vars = pipeline.instance_vars.as_map();
            let vars: Vec<_> = vars
                .iter()
                .map(|(name, value)| format!("{name}: {value}"))
                .collect();
            crumbs.push(Crumb {
                text: pipeline.name.clone(),
                href: pipeline_url(pipeline, &[]),
                vars: (!vars.is_empty()).then(|| vars.join(", ")),
            });
            if let Some(job) = &build.job_name {
                crumbs.push(Crumb::new(job, pipeline_url(pipeline, &["jobs", job])));
            } else if let Some(resource) = &build.resource_name {
                let address = pipeline_url(pipeline, &["resources", resource]);
                crumbs.push(Crumb::new(resource, address));
            }
        }
        crumbs.push(Crumb::new(format!("#{}", build.name), self.url_of(build)));
        crumbs
    }
}
