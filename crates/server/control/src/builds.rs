//! The seam to whatever runs builds.

use airside_model::{BuildId, JobId};
use airside_store::{Build, RequestedBuild};
use async_trait::async_trait;

/// Creates and aborts builds for objects of clusters.
#[async_trait]
pub trait ObjectBuilds: Send + Sync {
    /// Creates a build of the job for the object with this uid, and sees that it starts. The object
    /// gets one build at most, however often this is called.
    async fn trigger(
        &self,
        job: JobId,
        created_by: &str,
        uid: &str,
    ) -> Result<RequestedBuild, airside_store::Error>;

    /// Creates a build that repeats another, for the object with this uid.
    async fn rerun(
        &self,
        of: &Build,
        job: JobId,
        created_by: &str,
        uid: &str,
    ) -> Result<RequestedBuild, airside_store::Error>;

    /// Asks for a build to stop. Does nothing to one that has finished. Returns false if it could
    /// not be told; it is tried again.
    async fn abort(&self, build: BuildId) -> bool;
}
