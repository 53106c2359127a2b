//! The seam to whatever runs builds.

use airside_model::{BuildId, JobId, PipelineId, Plan, TeamId};
use airside_store::Build;
use async_trait::async_trait;

#[derive(Debug, thiserror::Error)]
pub enum TriggerError {
    /// The job as it stands cannot be built; says why.
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Store(#[from] airside_store::Error),
}

/// A plan that somebody wants run, without a job.
pub struct OneOffBuild<'a> {
    pub team: TeamId,
    pub pipeline: Option<PipelineId>,
    pub plan: Plan,
    pub created_by: &'a str,
}

#[async_trait]
pub trait Builds: Send + Sync {
    /// Creates a build of the job and sees that it starts.
    async fn trigger(&self, job: JobId, created_by: &str) -> Result<Build, TriggerError>;

    /// Creates a build of this plan and starts it.
    async fn start(&self, build: OneOffBuild<'_>) -> Result<Build, TriggerError>;

    /// Asks for a build to stop. Does nothing to one that has finished.
    async fn abort(&self, build: BuildId) -> Result<(), airside_store::Error>;
}
