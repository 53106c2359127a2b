//! The seam to whatever chooses workers.

use airside_model::WorkerName;
use airside_store::{Error, Store, WorkerChange, WorkerChanged};
use async_trait::async_trait;

#[async_trait]
pub trait WorkerLife: Send + Sync {
    /// Does what an operator asks of a worker; no step is put there against it from then on.
    async fn change(
        &self,
        worker: &WorkerName,
        change: WorkerChange,
    ) -> Result<WorkerChanged, Error>;
}

/// Where no steps run, what is stored is all there is to it.
#[async_trait]
impl WorkerLife for Store {
    async fn change(
        &self,
        worker: &WorkerName,
        change: WorkerChange,
    ) -> Result<WorkerChanged, Error> {
        let changed = self.change_worker(worker, change).await?;
        self.settle_workers().await?;
        Ok(changed)
    }
}
