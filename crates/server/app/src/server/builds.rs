//! The engine and the scheduler as the API sees them.

use airside_api::{Builds, OneOffBuild, Preparation, TriggerError};
use airside_engine::Engine;
use airside_model::{BuildId, JobId, chain};
use airside_scheduler::{Runner, Scheduling};
use airside_store::{Build, NewBuild, OneOff, Store};
use async_trait::async_trait;
use tracing::{info, warn};

pub(crate) struct EngineBuilds {
    pub(crate) store: Store,
    pub(crate) engine: Engine,
    pub(crate) scheduling: Scheduling,
}

#[async_trait]
impl Builds for EngineBuilds {
    async fn trigger(&self, job: JobId, created_by: &str) -> Result<Build, TriggerError> {
        let new = NewBuild {
            job,
            created_by: Some(created_by),
        };
        let note = |build| self.engine.note_cause(build);
        let build = self.store.create_build_noted(new, note).await?;
        info!(build = %build.id, created_by, "build created");
        Ok(build)
    }

    async fn rerun(&self, build: &Build, created_by: &str) -> Result<Build, TriggerError> {
        let rerun = self.store.create_rerun(build, created_by).await?;
        info!(build = %rerun.id, of = %build.id, created_by, "build created to repeat another");
        Ok(rerun)
    }

    async fn start(&self, build: OneOffBuild<'_>) -> Result<Build, TriggerError> {
        let one_off = OneOff {
            team: build.team,
            pipeline: build.pipeline,
            created_by: Some(build.created_by),
            plan: &build.plan,
        };
        self.engine.start(one_off).await.map_err(refused)
    }

    async fn abort(&self, build: BuildId) -> Result<(), airside_store::Error> {
        self.engine.abort(build).await.map_err(|error| match error {
            airside_engine::Error::Store(error) => error,
            other => airside_store::Error::Corrupt {
                what: other.to_string(),
            },
        })
    }

    async fn preparation(&self, build: BuildId) -> Option<Preparation> {
        let prepared = match self.scheduling.preparation(build).await {
            Ok(prepared) => prepared?,
            Err(error) => {
                warn!(%build, error = %chain(&error), "reason why a build waits not written");
                return None;
            }
        };
        let blocks = prepared.preparation;
        let is = |blocking| blocking == airside_scheduler::Blocking::Yes;
        Some(Preparation {
            paused_pipeline: is(blocks.paused_pipeline),
            paused_job: is(blocks.paused_job),
            max_running_builds: is(blocks.max_running_builds),
            inputs: prepared.inputs,
        })
    }
}

fn refused(error: airside_engine::Error) -> TriggerError {
    match error {
        airside_engine::Error::Store(error) => TriggerError::Store(error),
        other => TriggerError::Refused(other.to_string()),
    }
}

/// The engine as the scheduler sees it.
pub(crate) struct EngineRunner(pub(crate) Engine);

impl Runner for EngineRunner {
    fn run(&self, build: BuildId) {
        self.0.run(build);
    }
}
