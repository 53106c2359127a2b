//! Names of pull secrets are remembered in the store.

use airside_model::{WorkerName, chain};
use airside_runtime_kubernetes::PullSecretNames;
use airside_store::Store;
use async_trait::async_trait;

pub(crate) struct StoredNames(pub(crate) Store);

#[async_trait]
impl PullSecretNames for StoredNames {
    async fn remember(&self, worker: &WorkerName, name: &str) -> Result<(), String> {
        let remembered = self.0.remember_pull_secret(worker, name).await;
        remembered.map_err(|error| chain(&error))
    }

    async fn forget(&self, worker: &WorkerName, name: &str) -> Result<(), String> {
        let forgotten = self.0.forget_pull_secret(worker, name).await;
        forgotten.map_err(|error| chain(&error))
    }

    async fn all(&self, worker: &WorkerName) -> Result<Vec<String>, String> {
        let all = self.0.pull_secrets(worker).await;
        all.map_err(|error| chain(&error))
    }
}
