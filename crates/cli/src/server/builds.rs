//! The engine as the API sees it.

use airside_api::{Builds, TriggerError};
use airside_engine::Engine;
use airside_model::{BuildId, JobId};
use airside_store::Build;
use async_trait::async_trait;

pub(crate) struct EngineBuilds(pub(crate) Engine);

#[async_trait]
impl Builds for EngineBuilds {
    async fn trigger(&self, job: JobId, created_by: &str) -> Result<Build, TriggerError> {
        self.0
            .trigger(job, created_by)
            .await
            .map_err(|error| match error {
                airside_engine::Error::Store(error) => TriggerError::Store(error),
                other => TriggerError::Refused(other.to_string()),
            })
    }

    async fn abort(&self, build: BuildId) -> Result<(), airside_store::Error> {
        self.0.abort(build).await.map_err(|error| match error {
            airside_engine::Error::Store(error) => error,
            other => airside_store::Error::Corrupt {
                what: other.to_string(),
            },
        })
    }
}
