//! Builds of many jobs as rows.

use airside_auth::Action;
use airside_model::BuildStatus;
use airside_store::{Build, Micros, Team};
use airside_ui::{ListedBuild, PageStatus, RowTime, SendButton};

use crate::{
    ApiState, Blocking, Prepared,
    error::Result,
    page,
    web::{
        PageRequest,
        job::new_versions,
        links::team_pipeline_url,
        place::{build_url, shown_time, took, vars_text},
    },
};

/// The most builds whose reasons to wait are looked up.
const MAX_REASONS: usize = 30;
const PARTS: &str = "unfinished,finished";

pub(super) struct Rows<'a> {
    pub(super) state: &'a ApiState,
    pub(super) request: &'a PageRequest,
    pub(super) teams: &'a [Team],
    pub(super) now: Micros,
}

impl Rows<'_> {
    /// Makes rows of builds that wait, with the reasons that the viewer may see.
    pub(super) async fn waiting(&self, builds: Vec<Build>) -> Result<Vec<ListedBuild>> {
        let mut rows = self.running(builds.clone()).await?;
        for (number, (row, build)) in rows.iter_mut().zip(&builds).enumerate() {
            let start = Some(build.created_at.seconds());
            row.took = RowTime::between(start, None, self.now.seconds());
            if build.inputs_ready {
                row.reason = Some("its start".to_owned());
            } else if number < MAX_REASONS && self.views(build) {
                let prepared = self.state.builds.preparation(build.id).await;
                row.reason = prepared.map(|prepared| reason(&prepared));
            }
        }
        Ok(rows)
    }

    pub(super) async fn running(&self, builds: Vec<Build>) -> Result<Vec<ListedBuild>> {
        self.rows(builds, |build| {
            let url = format!("/api/v1/builds/{}/abort", build.id.0);
            let abort = SendButton::small("PUT", url, "Abort", "i-x")
                .confirm(format!("Abort {}?", name(build)));
            (Action::AbortBuild, abort)
        })
        .await
    }

    pub(super) async fn finished(&self, builds: Vec<Build>) -> Result<Vec<ListedBuild>> {
        self.rows(builds, |build| {
            let path = match (&build.pipeline_name, &build.job_name) {
                (Some(pipeline), Some(job)) => {
                    let rest = ["jobs", job, "builds", &build.name];
                    team_pipeline_url(&build.team_name, pipeline, &build.instance_vars, &rest)
                }
                _ => String::new(),
            };
            let again = SendButton::small("POST", format!("/api/v1{path}"), "Run again", "i-again");
            (Action::RerunJobBuild, again)
        })
        .await
    }

    async fn rows(
        &self,
        mut builds: Vec<Build>,
        button: impl Fn(&Build) -> (Action, SendButton),
    ) -> Result<Vec<ListedBuild>> {
        page::hide_people(self.state, &self.request.scope, &mut builds).await?;
        let mut news = new_versions(self.state, &builds).await?;
        let rows = builds.into_iter().map(|build| {
            let (action, button) = button(&build);
            ListedBuild {
                action: self.offer(&build, action, button),
                name: name(&build),
                vars: vars_text(&build.instance_vars),
                href: build_url(&build),
                status: PageStatus::from(build.status),
                news: news.remove(&build.id).unwrap_or_default(),
                reason: None,
                took: took(&build, self.now),
                when: build
                    .ended_at
                    .or(build.started_at)
                    .map(|at| shown_time(at, self.now)),
                id: build.id.0,
                team: build.team_name,
                by: build.created_by,
                rerun_of: build.rerun_of.map(|rerun| rerun.name),
            }
        });
        Ok(rows.collect())
    }

    fn team(&self, build: &Build) -> Option<&Team> {
        self.teams.iter().find(|team| team.id == build.team)
    }

    fn views(&self, build: &Build) -> bool {
        let team = self.team(build);
        team.is_some_and(|team| self.request.scope.can_view(team))
    }

    /// Returns the button if the viewer may use it; only builds of jobs are run again.
    fn offer(&self, build: &Build, action: Action, button: SendButton) -> Option<SendButton> {
        let team = self.team(build)?;
        let is_of_job = build.job.is_some() && build.pipeline.is_some();
        let possible = is_of_job || action != Action::RerunJobBuild;
        let has_inputs = build.inputs_ready || build.status != BuildStatus::Aborted;
        let may = possible && has_inputs && self.request.scope.may_on(action, Some(team));
        may.then(|| button.parts(PARTS))
    }
}

/// Returns the name of a build among those of all pipelines.
fn name(build: &Build) -> String {
    let place = match (&build.pipeline_name, &build.job_name, &build.resource_name) {
        (Some(pipeline), Some(job), _) => format!("{pipeline}/{job} "),
        (Some(pipeline), None, Some(resource)) => format!("{pipeline}/{resource} "),
        (Some(pipeline), None, None) => format!("{pipeline} "),
        (None, ..) => "one-off ".to_owned(),
    };
    if build.is_check {
        format!("{place}check")
    } else {
        format!("{place}#{}", build.name)
    }
}

/// Returns the first thing that holds a build up.
fn reason(prepared: &Prepared) -> String {
    let what = &prepared.preparation;
    let held = [
        (what.paused_pipeline, "its pipeline is paused"),
        (what.paused_job, "its job is paused"),
        (
            what.max_running_builds,
            "room among the running builds of its job",
        ),
    ];
    if let Some((_, words)) = held.iter().find(|(state, _)| *state == Blocking::Yes) {
        return (*words).to_owned();
    }
    let inputs = prepared.inputs.iter();
    let mut missing = inputs.filter_map(|(name, why)| Some((name, why.as_ref()?)));
    match missing.next() {
        Some((name, why)) => format!("{name}: {why}"),
        None => "its turn".to_owned(),
    }
}
