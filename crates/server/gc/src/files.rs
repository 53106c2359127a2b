//! Files without rows, and volumes whose time is over.

use airside_model::{Quota, VolumeId};

use crate::{Collector, Error, Result};

/// Number of volumes that are looked up together.
const BATCH: usize = 500;

impl Collector {
    /// Logs of builds that are gone or reaped: what a crash or a destroyed pipeline left.
    pub(crate) async fn collect_logs(&self) -> Result<u64> {
        let there = self.parts.logs.list().await.map_err(Error::List)?;
        let mut collected = 0;
        for builds in there.chunks(BATCH) {
            for build in self.parts.store.without_log(builds).await? {
                self.parts.logs.remove(build).await?;
                collected += 1;
            }
        }
        Ok(collected)
    }

    /// Removes garbage volumes of finished builds, and trees that the store does not know.
    pub(crate) async fn collect_volumes(&self) -> Result<u64> {
        // Before the rows are read: a volume is announced before there is anything of it.
        let volumes = self.parts.volumes.clone();
        let there = blocking(move || volumes.list()).await?;
        let mut collected = 0;
        for volume in self.parts.store.dead_volumes().await? {
            self.remove_volume(&volume).await?;
            collected += 1;
        }
        for some in there.chunks(BATCH) {
            for volume in self.parts.store.unknown_volumes(some).await? {
                self.remove_volume(&volume).await?;
                collected += 1;
            }
        }
        self.measure_volumes(&there).await?;
        Ok(collected)
    }

    /// Measures volumes whose size no step has reported, for teams with a quota of them: of before
    /// the quota, or before a crash.
    async fn measure_volumes(&self, there: &[VolumeId]) -> Result<()> {
        let store = &self.parts.store;
        if !store.quotas().has(Quota::Volumes) {
            return Ok(());
        }
        store.forget_sizes_but_of(there).await?;
        for some in there.chunks(BATCH) {
            for (id, team) in store.unmeasured_volumes(some).await? {
                let (volumes, volume) = (self.parts.volumes.clone(), id.clone());
                // It may have gone meanwhile.
                if let Ok(bytes) = blocking(move || volumes.size(&volume)).await {
                    store.note_volume_size(team, &id, bytes).await?;
                }
            }
        }
        Ok(())
    }

    /// Removes a volume, unless it is in use for something else.
    pub(crate) async fn remove_if_dead(&self, volume: &VolumeId) -> Result<()> {
        if self.parts.store.is_dead_volume(volume).await? {
            self.remove_volume(volume).await
        } else {
            Ok(())
        }
    }

    /// Removes the files of a volume alone.
    pub(crate) async fn remove_tree(&self, volume: &VolumeId) -> Result<()> {
        let (volumes, id) = (self.parts.volumes.clone(), volume.clone());
        blocking(move || volumes.remove(&id)).await
    }

    async fn remove_volume(&self, volume: &VolumeId) -> Result<()> {
        self.remove_tree(volume).await?;
        Ok(self.parts.store.forget_volume(volume).await?)
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, airside_volumes::Error> + Send + 'static,
) -> Result<T> {
    Ok(airside_tasks::blocking("files of the collector", work).await??)
}
