//! The seam to whatever chooses workers.

use airside_model::WorkerName;
use airside_store::{Error, Store, Team, Worker, WorkerChange, WorkerChanged};
use async_trait::async_trait;

/// The condition of a worker, whatever administrators want of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerCondition {
    /// The state of its steps is not known.
    pub stalled: bool,
    /// All that is not as it should be, in words.
    pub lacks: Vec<String>,
}

impl WorkerCondition {
    /// Adds that the worker's team does not exist: a name that was misspelt is seen nowhere else.
    pub(crate) fn note_team(&mut self, worker: &Worker, teams: &[Team]) {
        let Some(name) = &worker.team else { return };
        if !teams.iter().any(|team| team.name == *name) {
            self.lacks.push(format!(
                "its team {name} does not exist, so no step goes there: correct `team` where the worker is \
                 configured, or make the team (`fly set-team -n {name}`)"
            ));
        }
    }
}

/// The reason why a worker could not be changed.
#[derive(Debug, thiserror::Error)]
pub enum WorkerChangeError {
    #[error("the worker could not be changed")]
    Orchestrator(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error(transparent)]
    Store(#[from] Error),
}

#[async_trait]
pub trait WorkerLife: Send + Sync {
    /// Does what an administrator asks of a worker; no step is put there against it from then on.
    async fn change(
        &self,
        worker: &WorkerName,
        change: WorkerChange,
    ) -> Result<WorkerChanged, WorkerChangeError>;

    /// An agent's token was changed or revoked: it is let in anew, or not at all.
    fn cut_agent(&self, _worker: &WorkerName) {}

    /// A worker whose configuration mentions the team by name.
    fn naming_team(&self, _team: &str) -> Option<WorkerName> {
        None
    }

    fn condition(&self, _worker: &WorkerName) -> WorkerCondition {
        WorkerCondition::default()
    }
}

/// A server without workers: the stored state is all there is.
#[async_trait]
impl WorkerLife for Store {
    async fn change(
        &self,
        worker: &WorkerName,
        change: WorkerChange,
    ) -> Result<WorkerChanged, WorkerChangeError> {
        let changed = self.change_worker(worker, change).await?;
        self.settle_workers().await?;
        Ok(changed)
    }
}
