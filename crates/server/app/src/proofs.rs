//! Proofs that some workers require with a claim, in addition to its token.

use std::{collections::HashMap, sync::Arc};

use airside_hub::{Proofs, Unproven};
use airside_model::{WorkerName, chain};
use airside_runtime_kubernetes::KubeRuntime;
use airside_store::Container;
use async_trait::async_trait;
use parking_lot::RwLock;

/// The runtimes that verify proofs, by worker. Claims are refused until the targets are connected.
#[derive(Clone, Default)]
pub(crate) struct WorkerProofs(Arc<RwLock<HashMap<WorkerName, Arc<KubeRuntime>>>>);

impl WorkerProofs {
    pub(crate) fn add(&self, worker: WorkerName, runtime: Arc<KubeRuntime>) {
        self.0.write().insert(worker, runtime);
    }

    pub(crate) fn remove(&self, worker: &WorkerName) {
        self.0.write().remove(worker);
    }
}

#[async_trait]
impl Proofs for WorkerProofs {
    async fn verify(&self, container: &Container, proof: Option<&str>) -> Result<(), Unproven> {
        let runtime = self.0.read().get(&container.worker).cloned();
        let Some(runtime) = runtime else {
            return Ok(());
        };
        if !runtime.requires_proof() {
            return Ok(());
        }
        let Some(proof) = proof else {
            let reason =
                "the claim came without the service-account token that this target asks for";
            return Err(Unproven {
                reason: reason.to_owned(),
                retry: false,
            });
        };
        let verified = runtime
            .verify_proof(&container.handle, container.uid.as_deref(), proof)
            .await;
        verified.map_err(|error| Unproven {
            reason: chain(&error),
            retry: error.is_transient(),
        })
    }
}
