//! What checks need of the engine, whether a build runs them or nobody sees them.

use airside_checker::Checkers;
use airside_config::Config;
use airside_credentials::Asker;
use airside_model::{WorkerName, plan::CheckPlan};
use airside_store::{Build, NewCheck, Pipeline};
use airside_vars::InstanceVars;
use serde_json::Value;
use tokio::{sync::OwnedMutexGuard, task::JoinHandle};
use tracing::debug;

use crate::{Engine, Result, leaf::Leaf};

/// The checkers of one worker.
#[derive(Clone)]
pub struct WorkerCheckers {
    pub worker: WorkerName,
    pub checkers: Checkers,
}

impl Engine {
    /// The checkers of the worker that would be chosen for such a step, if it has any.
    pub fn checker(&self, team: &str, tags: &[String]) -> Option<&WorkerCheckers> {
        let own = self.parts.checkers.as_ref()?;
        let chosen = self.parts.orchestrator.worker_for(team, tags)?;
        (own.worker == chosen).then_some(own)
    }

    /// Whether such a step would have to wait for its worker to come back.
    pub fn would_wait(&self, team: &str, tags: &[String]) -> bool {
        self.parts.orchestrator.would_wait(team, tags)
    }

    /// Creates a build that checks, and sets it going. The task ends with the build.
    pub async fn check(&self, check: NewCheck<'_>) -> Result<(Build, JoinHandle<()>)> {
        let build = self.parts.store.create_check(check).await?;
        debug!(build = %build.id, "check created");
        let driven = self.drive(build.id);
        Ok((build, driven))
    }

    /// Puts the values of variables into a part of a pipeline's configuration. Gives it, and the secrets
    /// that went into it.
    pub async fn fill(
        &self,
        pipeline: &Pipeline,
        config: &Config,
        value: Value,
    ) -> Result<(Value, Vec<Value>), airside_vars::Error> {
        let asker = Asker {
            team: pipeline.team_name.clone(),
            pipeline: Some(pipeline.name.clone()),
            instance_vars: InstanceVars(pipeline.instance_vars.as_map().clone()),
            job: None,
        };
        let variables = self.parts.credentials.of(asker, &config.var_sources);
        variables.fill(value, None).await
    }

    /// One check of a resource at a time; other checks are nobody's.
    pub(crate) async fn turn_to_check(
        &self,
        leaf: Leaf<'_>,
        check: &CheckPlan,
    ) -> Option<OwnedMutexGuard<()>> {
        let pipeline = leaf.interpreter.build.pipeline?;
        if check.resource.is_empty() {
            return None;
        }
        let turn = self.parts.checking.of((pipeline, check.resource.clone()));
        let stop = leaf.context.stop.token();
        stop.run_until_cancelled(turn.lock_owned()).await
    }
}
