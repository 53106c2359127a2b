//! The seam to whatever runs builds.

use airside_model::{BuildId, JobId, PipelineId, Plan, TeamId};
use airside_scheduler::Prepared;
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

/// The reason why a build could not be stopped.
#[derive(Debug, thiserror::Error)]
pub enum AbortError {
    #[error("cannot stop the build")]
    Engine(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error(transparent)]
    Store(#[from] airside_store::Error),
}

/// A plan to run without a job.
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

    /// Creates a build that repeats another with the same inputs, and sees that it starts.
    async fn rerun(&self, build: &Build, created_by: &str) -> Result<Build, TriggerError>;

    /// Creates a build of this plan and starts it.
    async fn start(&self, build: OneOffBuild<'_>) -> Result<Build, TriggerError>;

    /// Asks for a build to stop. Does nothing to one that has finished.
    async fn abort(&self, build: BuildId) -> Result<(), AbortError>;

    /// Returns the reasons for which a build of a job waits, if it does.
    async fn preparation(&self, build: BuildId) -> Option<Prepared>;
}
