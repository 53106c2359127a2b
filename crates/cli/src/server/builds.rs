//! The engine as the API sees it.

use airside_api::{Builds, OneOffBuild, TriggerError};
use airside_engine::Engine;
use airside_model::{BuildId, JobId};
use airside_store::{Build, OneOff};
use async_trait::async_trait;

pub(crate) struct EngineBuilds(pub(crate) Engine);

#[async_trait]
impl Builds for EngineBuilds {
    async fn trigger(&self, job: JobId, created_by: &str) -> Result<Build, TriggerError> {
        self.0.trigger(job, created_by).await.map_err(refused)
    }

    async fn start(&self, build: OneOffBuild<'_>) -> Result<Build, TriggerError> {
        let one_off = OneOff {
            team: build.team,
            pipeline: build.pipeline,
            created_by: Some(build.created_by),
            plan: &build.plan,
        };
        self.0.start(one_off).await.map_err(refused)
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

fn refused(error: airside_engine::Error) -> TriggerError {
    match error {
        airside_engine::Error::Store(error) => TriggerError::Store(error),
        other => TriggerError::Refused(other.to_string()),
    }
}
