//! The result of the guard: the caller of a request, and its objects.

use std::sync::Arc;

use airside_auth::{Action, Decision, Exposure, Principal, Target, authorize};
use airside_config::JobOutline;
use airside_model::BuildId;
use airside_store::{Build, InstanceVars, Job, PipelineSummary, Store, Team};
use axum::extract::FromRequestParts;
use http::request::Parts;

use crate::error::{ApiError, Result};

/// Present only behind the guard, so a handler that was not guarded has nothing to show.
#[derive(Clone)]
pub(crate) struct RequestScope(Arc<ScopeObjects>);

#[derive(Default)]
pub(crate) struct ScopeObjects {
    pub(crate) principal: Option<Principal>,
    /// The instance vars of the pipeline that the path names, whether it exists or not.
    pub(crate) vars: InstanceVars,
    team: Option<Team>,
    pipeline: Option<PipelineSummary>,
    job: Option<Job>,
    build: Option<Build>,
}

/// The objects that a request names: the parameters of its path, and the query's part of them.
pub(crate) struct RequestPath<'a> {
    pub(crate) names: PathNames<'a>,
    /// Variables that distinguish pipelines of one name.
    pub(crate) vars: InstanceVars,
    pub(crate) worker: Option<&'a str>,
}

/// The parameters of a path, by name.
pub(crate) struct PathNames<'a>(pub(crate) Vec<(&'a str, &'a str)>);

impl PathNames<'_> {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| *value)
    }
}

impl ScopeObjects {
    /// Returns the scope of objects that were looked up already.
    pub(crate) fn of_objects(
        team: Option<Team>,
        pipeline: Option<PipelineSummary>,
        job: Option<Job>,
    ) -> Self {
        Self {
            team,
            pipeline,
            job,
            ..Self::default()
        }
    }

    /// Looks up what a path names, as far as it exists.
    pub(crate) async fn resolve(store: &Store, asked: &RequestPath<'_>) -> Result<Self> {
        if let Some(id) = asked.names.get("build_id") {
            return Self::around_build(store, id).await;
        }
        match asked.names.get("worker_name").or(asked.worker) {
            Some(worker) => Self::around_worker(store, worker).await,
            None => Self::along_path(store, asked).await,
        }
    }

    /// The team that a worker belongs to.
    async fn around_worker(store: &Store, name: &str) -> Result<Self> {
        let mut found = Self::default();
        let workers = store.workers().await?;
        let worker = workers.iter().find(|worker| worker.name.as_str() == name);
        if let Some(team) = worker.and_then(|worker| worker.team.as_deref()) {
            found.team = store.team(team).await?;
        }
        Ok(found)
    }

    async fn around_build(store: &Store, id: &str) -> Result<Self> {
        let mut found = Self::default();
        let Ok(id) = id.parse() else { return Ok(found) };
        let Some(build) = store.build(BuildId(id)).await? else {
            return Ok(found);
        };
        found.team = store.team(&build.team_name).await?;
        if let Some(pipeline) = build.pipeline {
            found.pipeline = store.pipeline_summary_by_id(pipeline).await?;
        }
        if let Some(job) = build.job {
            found.job = store.job_by_id(job).await?;
        }
        found.build = Some(build);
        Ok(found)
    }

    async fn along_path(store: &Store, asked: &RequestPath<'_>) -> Result<Self> {
        let names = &asked.names;
        let mut found = Self::default();
        let Some(team) = names.get("team_name") else {
            return Ok(found);
        };
        found.team = store.team(team).await?;
        if let (Some(team), Some(name)) = (&found.team, names.get("pipeline_name")) {
            found.pipeline = store.pipeline_summary(team.id, name, &asked.vars).await?;
        }
        if let (Some(pipeline), Some(name)) = (&found.pipeline, names.get("job_name")) {
            found.job = store.job(pipeline.id, name).await?;
        }
        if let (Some(job), Some(name)) = (&found.job, names.get("build_name")) {
            found.build = store.job_build(job.id, name).await?;
        }
        Ok(found)
    }

    /// Leaves out who did what, unless the caller belongs to the team: what is exposed shows
    /// pipelines, not people.
    pub(crate) fn hide_people(&mut self) {
        let caller = self.principal.as_ref();
        let belongs = |team: &Team| caller.is_some_and(|caller| caller.can_view(team));
        if self.team.as_ref().is_some_and(belongs) {
            return;
        }
        if let Some(pipeline) = &mut self.pipeline {
            pipeline.paused_by = None;
        }
        if let Some(job) = &mut self.job {
            job.paused_by = None;
        }
        if let Some(build) = &mut self.build {
            build.created_by = None;
        }
    }

    pub(crate) fn has_build(&self) -> bool {
        self.build.is_some()
    }

    pub(crate) fn target(&self) -> Target<'_> {
        Target {
            team: self.team.as_ref(),
            exposure: self.exposure(),
        }
    }

    fn exposure(&self) -> Exposure {
        if !self
            .pipeline
            .as_ref()
            .is_some_and(|pipeline| pipeline.public)
        {
            return Exposure::Hidden;
        }
        match &self.job {
            Some(job) if job_outline(job).public => Exposure::Job,
            _ => Exposure::Pipeline,
        }
    }
}

/// Returns the stored outline of a job's configuration. One that cannot be read allows nothing.
pub(crate) fn job_outline(job: &Job) -> JobOutline {
    serde_json::from_str(&job.outline).unwrap_or_default()
}

impl RequestScope {
    pub(crate) fn new(found: ScopeObjects) -> Self {
        Self(Arc::new(found))
    }

    pub(crate) fn principal(&self) -> Option<&Principal> {
        self.0.principal.as_ref()
    }

    /// Returns the caller, where the action needs one.
    pub(crate) fn caller(&self) -> Result<&Principal> {
        self.principal().ok_or(ApiError::Unauthenticated)
    }

    pub(crate) fn instance_vars(&self) -> &InstanceVars {
        &self.0.vars
    }

    pub(crate) fn team(&self) -> Result<&Team> {
        self.0.team.as_ref().ok_or(ApiError::NotFound)
    }

    /// The team that the path names, if there is one; else it may be made.
    pub(crate) fn existing_team(&self) -> Option<&Team> {
        self.0.team.as_ref()
    }

    pub(crate) fn pipeline(&self) -> Result<&PipelineSummary> {
        self.0.pipeline.as_ref().ok_or(ApiError::NotFound)
    }

    /// The pipeline, unless it is archived: then nothing of it may be changed or run.
    pub(crate) fn active_pipeline(&self) -> Result<&PipelineSummary> {
        let pipeline = self.pipeline()?;
        if pipeline.archived {
            let why = "action not allowed for an archived pipeline";
            return Err(ApiError::Conflict(why.to_owned()));
        }
        Ok(pipeline)
    }

    pub(crate) fn job(&self) -> Result<&Job> {
        self.0.job.as_ref().ok_or(ApiError::NotFound)
    }

    pub(crate) fn build(&self) -> Result<&Build> {
        self.0.build.as_ref().ok_or(ApiError::NotFound)
    }

    /// Returns true if the caller may see the build's output and the notes of users about it.
    pub(crate) fn sees_output(&self) -> Result<bool> {
        Ok(self.0.exposure() == Exposure::Job || self.can_view(self.team()?))
    }

    /// Returns true if the caller may do this to the object that the path names.
    pub(crate) fn may(&self, action: Action) -> bool {
        authorize(action, self.principal(), self.0.target()) == Decision::Allow
    }

    /// Returns true if the caller may do this to objects of the team.
    pub(crate) fn may_on(&self, action: Action, team: Option<&Team>) -> bool {
        let target = Target {
            team,
            exposure: Exposure::Hidden,
        };
        authorize(action, self.principal(), target) == Decision::Allow
    }

    /// Returns true if the caller belongs to the team that the path names.
    pub(crate) fn is_insider(&self) -> bool {
        self.existing_team().is_some_and(|team| self.can_view(team))
    }

    /// Returns true if the caller may see the objects that the team does not expose.
    pub(crate) fn can_view(&self, team: &Team) -> bool {
        self.principal()
            .is_some_and(|principal| principal.can_view(team))
    }
}

impl<S: Sync> FromRequestParts<S> for RequestScope {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        let missing = ApiError::Internal("this route is not guarded");
        parts.extensions.get::<Self>().cloned().ok_or(missing)
    }
}
