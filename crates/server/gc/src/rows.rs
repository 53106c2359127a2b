//! Garbage rows, a batch at a time.

use std::time::Duration;

use airside_store::{Micros, now};

use crate::{Collector, Kind, Result};

/// Number of rows that go in one transaction.
const BATCH: i64 = 500;
/// Number of rows that go in one transaction if each takes others with it: a build has some for
/// each of its steps.
const DESTROYED: i64 = 100;

/// Time for which builds that checked are kept, so that the user who asked can read them.
const CHECKS: Duration = Duration::from_secs(5 * 60);
/// Time for which the versions of images are kept since they were last needed.
const IMAGE_CHECKS: Duration = Duration::from_secs(7 * 24 * 3600);
/// Uploads, and what builds leave to be downloaded.
const ARTIFACTS: Duration = Duration::from_secs(12 * 3600);
/// Requests of objects for builds: an object that is there for longer than its build may ask again.
const BUILD_REQUESTS: Duration = Duration::from_secs(30 * 24 * 3600);
/// Loops that no server runs any more.
const COMPONENTS: Duration = Duration::from_secs(7 * 24 * 3600);

fn before(age: Duration) -> Micros {
    now().minus(age)
}

impl Collector {
    /// Collects all there is of one kind now; how many. (For tests, and for the loop.)
    pub async fn collect(&self, kind: Kind) -> Result<u64> {
        match kind {
            Kind::BuildLogs => self.reap_all().await,
            Kind::Builds => self.forget_builds().await,
            Kind::Checks => self.collect_checks().await,
            Kind::Pipelines => self.collect_pipelines().await,
            Kind::Logs => self.collect_logs().await,
            Kind::Volumes => self.collect_volumes().await,
            Kind::Images => Ok(self
                .parts
                .workers
                .collect_images(self.parts.keep.images)
                .await),
            kind => self.collect_rows(kind).await,
        }
    }

    /// Batch after batch, until one is not full. Others have their turn in between.
    async fn collect_rows(&self, kind: Kind) -> Result<u64> {
        let mut collected = 0;
        loop {
            let gone = self.collect_batch(kind).await?;
            collected += gone;
            if gone < BATCH as u64 {
                return Ok(collected);
            }
            tokio::task::yield_now().await;
        }
    }

    async fn collect_batch(&self, kind: Kind) -> Result<u64> {
        let store = &self.parts.store;
        let gone = match kind {
            Kind::ImageChecks => {
                let before = before(IMAGE_CHECKS);
                store.collect_image_checks(before, BATCH).await?
            }
            Kind::Versions => {
                let beyond = store.collect_versions_beyond_quota(BATCH).await?;
                beyond + store.collect_versions(BATCH).await?
            }
            Kind::Resources => store.collect_resources(BATCH).await?,
            Kind::Jobs => store.collect_jobs(BATCH).await?,
            Kind::Tokens => store.collect_tokens(BATCH).await?,
            Kind::Artifacts => store.expire_artifacts(before(ARTIFACTS), BATCH).await?,
            Kind::TaskCaches => store.collect_task_caches(BATCH).await?,
            Kind::ResourceCaches => store.collect_resource_caches(BATCH).await?,
            Kind::Containers => store.collect_orphaned_containers(BATCH).await?,
            Kind::Components => store.collect_components(before(COMPONENTS), BATCH).await?,
            Kind::BuildRequests => {
                let before = before(BUILD_REQUESTS);
                store.collect_build_requests(before, BATCH).await?
            }
            Kind::Pages => store.give_back_space().await?,
            // These are more than rows.
            Kind::Pipelines
            | Kind::BuildLogs
            | Kind::Builds
            | Kind::Checks
            | Kind::Logs
            | Kind::Volumes
            | Kind::Images => 0,
        };
        Ok(gone)
    }

    /// Removes the rows of destroyed pipelines, with the logs of their builds; returns the number
    /// of rows, without those that go with them.
    async fn collect_pipelines(&self) -> Result<u64> {
        let mut collected = 0;
        loop {
            let gone = self.parts.store.collect_destroyed(DESTROYED).await?;
            for build in &gone.builds {
                self.parts.logs.remove(*build).await?;
            }
            collected += gone.rows;
            if gone.rows == 0 {
                return Ok(collected);
            }
            tokio::task::yield_now().await;
        }
    }

    /// Builds that checked, with their logs.
    async fn collect_checks(&self) -> Result<u64> {
        let mut collected = 0;
        loop {
            let gone = self
                .parts
                .store
                .collect_checks(before(CHECKS), BATCH)
                .await?;
            for build in &gone {
                self.parts.logs.remove(*build).await?;
            }
            collected += gone.len() as u64;
            if gone.len() < BATCH as usize {
                return Ok(collected);
            }
        }
    }
}
