//! The engine and the scheduler as the API sees them.

use airside_api::{AbortError, Builds, OneOffBuild, Prepared, TriggerError};
use airside_control::ObjectBuilds;
use airside_engine::Engine;
use airside_model::{BuildId, JobId, chain};
use airside_scheduler::Scheduler;
use airside_store::{Build, NewBuild, OneOff, RequestedBuild, Store};
use async_trait::async_trait;
use tracing::{info, warn};

pub(crate) struct EngineBuilds {
    pub(crate) store: Store,
    pub(crate) engine: Engine,
    pub(crate) scheduler: Scheduler,
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

    async fn abort(&self, build: BuildId) -> Result<(), AbortError> {
        self.engine.abort(build).await.map_err(abort_error)
    }

    async fn preparation(&self, build: BuildId) -> Option<Prepared> {
        match self.scheduler.preparation(build).await {
            Ok(prepared) => prepared,
            Err(error) => {
                warn!(%build, error = %chain(&error), "reason why a build waits not found");
                None
            }
        }
    }
}

/// Builds that objects of clusters ask for.
#[async_trait]
impl ObjectBuilds for EngineBuilds {
    async fn trigger(
        &self,
        job: JobId,
        created_by: &str,
        uid: &str,
    ) -> Result<RequestedBuild, airside_store::Error> {
        let new = NewBuild {
            job,
            created_by: Some(created_by),
        };
        let note = |build| self.engine.note_cause(build);
        self.store.create_requested_build(new, uid, note).await
    }

    async fn rerun(
        &self,
        of: &Build,
        job: JobId,
        created_by: &str,
        uid: &str,
    ) -> Result<RequestedBuild, airside_store::Error> {
        let store = &self.store;
        store.create_requested_rerun(of, job, created_by, uid).await
    }

    async fn abort(&self, build: BuildId) -> bool {
        match self.engine.abort(build).await {
            Ok(()) => true,
            Err(error) => {
                warn!(%build, error = %chain(&error), "build could not be told to stop");
                false
            }
        }
    }
}

fn abort_error(error: airside_engine::Error) -> AbortError {
    match error {
        airside_engine::Error::Store(error) => AbortError::Store(error),
        other => AbortError::Engine(Box::new(other)),
    }
}

fn refused(error: airside_engine::Error) -> TriggerError {
    match error {
        airside_engine::Error::Store(error) => TriggerError::Store(error),
        other => TriggerError::Refused(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_abort_that_the_log_refuses_is_no_damaged_database() {
        let log = airside_logs::Error::Closed { build: BuildId(1) };
        let other = abort_error(log.into());
        assert!(matches!(other, AbortError::Engine(_)), "{other:?}");
    }
}
