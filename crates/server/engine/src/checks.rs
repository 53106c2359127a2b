//! What checks need of the engine, whether a build runs them or nobody sees them.

mod elsewhere;
mod visit;

use airside_check_process::{Check, Checkers};
use airside_config::Config;
use airside_model::{WorkerName, plan::CheckPlan};
use airside_secrets::Asker;
use airside_store::{Build, NewCheck, Pipeline};
use airside_vars::InstanceVars;
use serde_json::Value;
use tokio::{sync::OwnedMutexGuard, task::JoinHandle};
use tracing::debug;

pub use self::elsewhere::{Answer, Elsewhere};
pub(crate) use self::visit::{TRIES, Visit, Visits};
use crate::{Engine, Result, leaf::Leaf};

/// The checkers of one worker.
#[derive(Clone)]
pub struct WorkerCheckers {
    pub worker: WorkerName,
    pub checkers: Checkers,
}

/// Who answers a team's native checks on one worker.
pub enum Checker<'a> {
    /// A process of this machine.
    Here(&'a WorkerCheckers),
    /// A container.
    Elsewhere(Elsewhere),
}

impl Checker<'_> {
    pub fn worker(&self) -> &WorkerName {
        match self {
            Self::Here(own) => &own.worker,
            Self::Elsewhere(elsewhere) => elsewhere.worker(),
        }
    }

    pub async fn check(&self, check: &Check) -> Answer {
        match self {
            Self::Here(own) => Answer::Ended(own.checkers.check(check).await),
            Self::Elsewhere(elsewhere) => elsewhere.check(check).await,
        }
    }
}

impl Engine {
    /// The team's checker on the worker that would be chosen for such a step. None: no worker is there for it now.
    pub fn checker(&self, team: &str, tags: &[String]) -> Option<Checker<'_>> {
        let chosen = self.parts.orchestrator.worker_for(team, tags)?;
        Some(self.checker_on(team, chosen))
    }

    pub(crate) fn checker_on(&self, team: &str, worker: WorkerName) -> Checker<'_> {
        match &self.parts.checkers {
            Some(own) if own.worker == worker => Checker::Here(own),
            _ => Checker::Elsewhere(Elsewhere::new(self, team, worker)),
        }
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
