//! What the guard found out about a request: who asks, and what about.

use std::sync::Arc;

use airside_auth::{Exposure, Principal, Target};
use airside_model::BuildId;
use airside_store::{Build, Job, Pipeline, Store, Team};
use axum::extract::FromRequestParts;
use http::request::Parts;
use serde_json::Value;

use crate::error::{ApiError, Result};

/// Present only behind the guard, so a handler that was not guarded has nothing to show.
#[derive(Clone)]
pub(crate) struct Scope(Arc<Found>);

#[derive(Default)]
pub(crate) struct Found {
    pub(crate) principal: Option<Principal>,
    team: Option<Team>,
    pipeline: Option<Pipeline>,
    job: Option<Job>,
    build: Option<Build>,
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

impl Found {
    /// Looks up what a path names, as far as it exists.
    pub(crate) async fn resolve(store: &Store, names: &PathNames<'_>) -> Result<Self> {
        match names.get("build_id") {
            Some(id) => Self::around_build(store, id).await,
            None => Self::along_path(store, names).await,
        }
    }

    async fn around_build(store: &Store, id: &str) -> Result<Self> {
        let mut found = Self::default();
        let Ok(id) = id.parse() else { return Ok(found) };
        let Some(build) = store.build(BuildId(id)).await? else {
            return Ok(found);
        };
        found.team = store.team(&build.team_name).await?;
        if let Some(pipeline) = build.pipeline {
            found.pipeline = store.pipeline_by_id(pipeline).await?;
        }
        if let Some(job) = build.job {
            found.job = store.job_by_id(job).await?;
        }
        found.build = Some(build);
        Ok(found)
    }

    async fn along_path(store: &Store, names: &PathNames<'_>) -> Result<Self> {
        let mut found = Self::default();
        let Some(team) = names.get("team_name") else {
            return Ok(found);
        };
        found.team = store.team(team).await?;
        if let (Some(team), Some(name)) = (&found.team, names.get("pipeline_name")) {
            found.pipeline = store.pipeline(team.id, name).await?;
        }
        if let (Some(pipeline), Some(name)) = (&found.pipeline, names.get("job_name")) {
            found.job = store.job(pipeline.id, name).await?;
        }
        if let (Some(job), Some(name)) = (&found.job, names.get("build_name")) {
            found.build = store.job_build(job.id, name).await?;
        }
        Ok(found)
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
        let Some(pipeline) = self.pipeline.as_ref().filter(|pipeline| pipeline.public) else {
            return Exposure::Hidden;
        };
        let public = self
            .job
            .as_ref()
            .and_then(|job| job_config(pipeline, &job.name))
            .is_some_and(|config| config["public"] == Value::Bool(true));
        if public {
            Exposure::Job
        } else {
            Exposure::Pipeline
        }
    }
}

/// A job as the pipeline's configuration has it.
pub(crate) fn job_config<'a>(pipeline: &'a Pipeline, name: &str) -> Option<&'a Value> {
    pipeline.config["jobs"]
        .as_array()?
        .iter()
        .find(|job| job["name"] == name)
}

impl Scope {
    pub(crate) fn new(found: Found) -> Self {
        Self(Arc::new(found))
    }

    pub(crate) fn principal(&self) -> Option<&Principal> {
        self.0.principal.as_ref()
    }

    /// Whoever asks, where the action needs somebody.
    pub(crate) fn caller(&self) -> Result<&Principal> {
        self.principal().ok_or(ApiError::Unauthenticated)
    }

    pub(crate) fn team(&self) -> Result<&Team> {
        self.0.team.as_ref().ok_or(ApiError::NotFound)
    }

    pub(crate) fn pipeline(&self) -> Result<&Pipeline> {
        self.0.pipeline.as_ref().ok_or(ApiError::NotFound)
    }

    /// The pipeline, unless it is archived: then nothing of it may be changed or run.
    pub(crate) fn active_pipeline(&self) -> Result<&Pipeline> {
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

    /// The pipeline and job that the build belongs to, if it belongs to any.
    pub(crate) fn origin(&self) -> (Option<&Pipeline>, Option<&Job>) {
        (self.0.pipeline.as_ref(), self.0.job.as_ref())
    }

    /// Whether whoever asks may see what the team does not expose.
    pub(crate) fn can_view(&self, team: &Team) -> bool {
        self.principal()
            .is_some_and(|principal| principal.can_view(team))
    }
}

impl<S: Sync> FromRequestParts<S> for Scope {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        let missing = ApiError::Internal("this route is not guarded");
        parts.extensions.get::<Self>().cloned().ok_or(missing)
    }
}
