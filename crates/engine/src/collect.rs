//! Collects what has outlived its owner: logs of builds that are gone, tokens, task caches and
//! artifacts that have expired.

use std::time::Duration;

use airside_store::{Micros, now};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{Engine, Result};

const EVERY: Duration = Duration::from_secs(600);

/// Uploads, and what builds leave to be downloaded.
const ARTIFACTS_FOR: Duration = Duration::from_secs(12 * 3600);

impl Engine {
    /// Collects now and then until `shutdown`.
    pub async fn collect_forever(&self, shutdown: CancellationToken) {
        let mut ticks = tokio::time::interval(EVERY);
        while shutdown.run_until_cancelled(ticks.tick()).await.is_some() {
            if let Err(error) = self.collect_in_turn().await {
                warn!(%error, "collection failed");
            }
        }
    }

    /// Does nothing while an administrator has paused the component.
    async fn collect_in_turn(&self) -> Result<()> {
        match self.parts.store.component_turn("collector", EVERY).await? {
            true => self.collect().await,
            false => Ok(()),
        }
    }

    async fn collect(&self) -> Result<()> {
        self.parts.store.collect_tokens().await?;
        self.parts.store.expire_task_caches().await?;
        let expired = Micros(now().0 - ARTIFACTS_FOR.as_micros() as i64);
        self.parts.store.expire_artifacts(expired).await?;
        let logs = match self.parts.logs.list().await {
            Ok(logs) => logs,
            Err(error) => {
                warn!(%error, "logs cannot be listed");
                return Ok(());
            }
        };
        for build in logs {
            if !self.parts.store.build_exists(build).await? {
                info!(%build, "log of a build that is gone removed");
                self.parts.logs.remove(build).await?;
            }
        }
        Ok(())
    }
}
