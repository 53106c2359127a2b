//! Caches that no build uses at the moment, for when the disk is nearly full.

use airside_model::VolumeId;

use crate::{
    Micros, Result, Store,
    db::{query, query_as, sql},
};

/// The purpose of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cold {
    /// The result of a get.
    Resource,
    /// Files that a task keeps from one build to the next.
    Task,
}

/// A cache that no unfinished build uses, and no user can intercept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColdCache {
    pub kind: Cold,
    pub volume: VolumeId,
    /// Time at which the cache was last found, or made.
    pub used_at: Micros,
}

/// No unfinished build uses the resource cache `r`, nor a kept container.
macro_rules! cold_resource {
    () => {
        "NOT EXISTS (SELECT 1 FROM resource_cache_uses u JOIN builds b ON b.id = u.build_id \
           WHERE u.volume_id = r.volume_id AND (b.status IN ('pending', 'started') \
             OR EXISTS (SELECT 1 FROM containers k WHERE k.build_id = b.id \
               AND k.kept_at IS NOT NULL AND k.state = 'created')))"
    };
}

/// No unfinished build uses the task cache `c`.
macro_rules! cold_task {
    () => {
        "NOT EXISTS (SELECT 1 FROM volume_uses u JOIN builds b ON b.id = u.build_id \
           WHERE u.volume_id = c.volume_id AND b.status IN ('pending', 'started'))"
    };
}

impl Store {
    /// Lists the caches whose last use is longest ago, first.
    pub async fn cold_caches(&self, most: i64) -> Result<Vec<ColdCache>> {
        let rows: Vec<(String, i64, bool)> = query_as(sql!(
            "SELECT r.volume_id, r.used_at, TRUE AS fetched FROM resource_caches r WHERE ",
            cold_resource!(),
            " UNION ALL
             SELECT c.volume_id, v.created_at, FALSE FROM task_caches c
             JOIN volumes v ON v.id = c.volume_id WHERE ",
            cold_task!(),
            " ORDER BY 2 LIMIT $1"
        ))
        .bind(most)
        .fetch_all(&self.read)
        .await?;
        let cold = rows
            .into_iter()
            .map(|(volume, used_at, fetched)| ColdCache {
                kind: if fetched { Cold::Resource } else { Cold::Task },
                volume: VolumeId(volume),
                used_at: Micros(used_at),
            });
        Ok(cold.collect())
    }

    /// Forgets a cache, unless a build has come to use it since. Its volume is left to the
    /// collector.
    pub async fn give_up_cache(&self, cache: &ColdCache) -> Result<bool> {
        let volume = cache.volume.as_str();
        let gone = match cache.kind {
            // By its time, too: a build that uses it writes that first.
            Cold::Resource => {
                query(sql!(
                    "DELETE FROM resource_caches WHERE used_at = $2 AND volume_id IN (
                       SELECT r.volume_id FROM resource_caches r WHERE r.volume_id = $1 AND ",
                    cold_resource!(),
                    ")"
                ))
                .bind(volume)
                .bind(cache.used_at.0)
                .execute(&self.write)
                .await?
            }
            Cold::Task => {
                query(sql!(
                    "DELETE FROM task_caches WHERE volume_id IN (
                       SELECT c.volume_id FROM task_caches c WHERE c.volume_id = $1 AND ",
                    cold_task!(),
                    ")"
                ))
                .bind(volume)
                .execute(&self.write)
                .await?
            }
        };
        Ok(gone > 0)
    }
}
