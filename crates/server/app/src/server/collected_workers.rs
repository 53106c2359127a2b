//! The collector's view of workers and of the registry.

use std::time::Duration;

use airside_model::{Handle, chain};
use airside_orchestrator::Orchestrator;
use async_trait::async_trait;
use tracing::warn;

use super::artifact_images::ArtifactImages;

/// The workers and the registry as the collector sees them: what it may take when the disk is full.
pub(super) struct CollectedWorkers {
    pub(super) orchestrator: Orchestrator,
    pub(super) images: Option<ArtifactImages>,
}

#[async_trait]
impl airside_gc::Workers for CollectedWorkers {
    async fn collect_images(&self, unused_for: Duration) -> u64 {
        let own = match &self.images {
            Some(images) => images.collect(unused_for).await,
            None => 0,
        };
        own + self.orchestrator.collect_images(unused_for).await
    }

    async fn largest_container(&self) -> Option<(Handle, u64)> {
        self.orchestrator.largest_container().await
    }

    async fn end_container(&self, handle: &Handle, why: &str) -> bool {
        self.orchestrator.end_container(handle, why).await
    }

    async fn registry_use(&self, team: &str) -> u64 {
        let Some(images) = &self.images else { return 0 };
        images.registry.used_by(team).await.unwrap_or(0)
    }

    async fn give_up_kept(&self) -> bool {
        self.orchestrator
            .give_up_kept()
            .await
            .unwrap_or_else(|error| {
                warn!(
                    error = %chain(&error),
                    "kept containers not removed, though the disk is full"
                );
                false
            })
    }
}
