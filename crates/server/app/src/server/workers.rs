//! The workers as the API sees them.

use airside_agents::Agents;
use airside_api::{WorkerChangeError, WorkerCondition, WorkerLife};
use airside_model::WorkerName;
use airside_orchestrator::{Error, Orchestrator};
use airside_store::{WorkerChange, WorkerChanged};
use async_trait::async_trait;

pub(crate) struct OrchestratedWorkers {
    pub(crate) orchestrator: Orchestrator,
    pub(crate) agents: Agents,
}

#[async_trait]
impl WorkerLife for OrchestratedWorkers {
    async fn change(
        &self,
        worker: &WorkerName,
        change: WorkerChange,
    ) -> Result<WorkerChanged, WorkerChangeError> {
        let changed = self.orchestrator.change_worker(worker, change).await;
        changed.map_err(|error| match error {
            Error::Store(error) => error.into(),
            other => WorkerChangeError::Orchestrator(other.into()),
        })
    }

    fn cut_agent(&self, worker: &WorkerName) {
        self.agents.cut(worker);
    }

    fn naming_team(&self, team: &str) -> Option<WorkerName> {
        self.orchestrator.worker_naming_team(team)
    }

    fn condition(&self, worker: &WorkerName) -> WorkerCondition {
        let condition = self.orchestrator.worker_condition(worker);
        WorkerCondition {
            stalled: condition.stalled.is_some(),
            lacks: condition.words(),
        }
    }
}
