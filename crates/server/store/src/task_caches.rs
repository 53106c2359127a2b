//! Folders that a task keeps from one build of its job to the next.
//!
//! A cache is a volume of the build that left it. The newest one counts; an older one stays on disk
//! until no unfinished build uses it any more.

use std::time::Duration;

use airside_model::{BuildId, JobId, PipelineId, VolumeId};

use crate::{
    Lease, Micros, Result, Store,
    db::{here, query, query_as, query_scalar, sql},
    now,
};

/// A cache that a task left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskCache<'a> {
    pub path: &'a str,
    pub volume: &'a VolumeId,
    /// Time for which the cache is kept after its last use; `None` keeps it for good.
    pub ttl: Option<Duration>,
}

/// A cache of a pipeline's task, with the names that it is known by outside of this database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedTaskCache {
    pub job: String,
    pub step: String,
    pub path: String,
    pub volume: VolumeId,
    pub expires_at: Option<Micros>,
}

impl Store {
    /// Lists the caches that tasks of the pipeline would find.
    pub async fn task_caches(&self, pipeline: PipelineId) -> Result<Vec<NamedTaskCache>> {
        let rows: Vec<(String, String, String, String, Option<i64>)> = query_as(sql!(
            "SELECT j.name, c.step, c.path, c.volume_id, c.expires_at
             FROM task_caches c JOIN jobs j ON j.id = c.job_id WHERE j.pipeline_id = $1
             ORDER BY j.name, c.step, c.path"
        ))
        .bind(pipeline.0)
        .fetch_all(&self.read)
        .await?;
        let named = rows.into_iter();
        Ok(named
            .map(|(job, step, path, volume, expires_at)| NamedTaskCache {
                job,
                step,
                path,
                volume: VolumeId(volume),
                expires_at: expires_at.map(Micros),
            })
            .collect())
    }

    /// Gives a task a cache that no build here left. The volume counts as one of `build`.
    pub async fn seed_task_cache(
        &self,
        build: BuildId,
        job: JobId,
        cache: &NamedTaskCache,
    ) -> Result<()> {
        let mut tx = self.write.begin(here!()).await?;
        query(sql!(
            "INSERT INTO volumes (id, build_id, handle, path, created_at)
             VALUES ($1, $2, '', $3, $4) ON CONFLICT (id) DO NOTHING"
        ))
        .bind(cache.volume.as_str())
        .bind(build.0)
        .bind(cache.path.as_str())
        .bind(now().0)
        .execute(&mut tx)
        .await?;
        query(sql!(
            "INSERT INTO task_caches (job_id, step, path, volume_id, expires_at)
             VALUES ($1, $2, $3, $4, $5) ON CONFLICT (job_id, step, path) DO NOTHING"
        ))
        .bind(job.0)
        .bind(cache.step.as_str())
        .bind(cache.path.as_str())
        .bind(cache.volume.as_str())
        .bind(cache.expires_at.map(|at| at.0))
        .execute(&mut tx)
        .await?;
        tx.commit().await?;
        Ok(())
    }

    /// The cache that a task finds, if one was left. The build holds it until it ends.
    pub async fn use_task_cache(
        &self,
        lease: &Lease,
        job: JobId,
        step: &str,
        path: &str,
    ) -> Result<Option<VolumeId>> {
        let mut tx = self.write.begin(here!()).await?;
        lease.check(&mut tx).await?;
        let found: Option<String> = query_scalar(sql!(
            "SELECT volume_id FROM task_caches WHERE job_id = $1 AND step = $2 AND path = $3
               AND (expires_at IS NULL OR expires_at > $4)"
        ))
        .bind(job.0)
        .bind(step)
        .bind(path)
        .bind(now().0)
        .fetch_optional(&mut tx)
        .await?;
        if let Some(volume) = &found {
            query(sql!(
                "INSERT INTO volume_uses (build_id, volume_id) VALUES ($1, $2)
                 ON CONFLICT (build_id, volume_id) DO NOTHING"
            ))
            .bind(lease.build.0)
            .bind(volume)
            .execute(&mut tx)
            .await?;
        }
        tx.commit().await?;
        Ok(found.map(VolumeId))
    }

    /// Keeps what a task left in its caches, in the place of what was there.
    pub async fn save_task_caches(
        &self,
        lease: &Lease,
        job: JobId,
        step: &str,
        caches: &[TaskCache<'_>],
    ) -> Result<()> {
        let mut tx = self.write.begin(here!()).await?;
        lease.check(&mut tx).await?;
        for cache in caches {
            query(sql!(
                "INSERT INTO task_caches (job_id, step, path, volume_id, expires_at)
                 VALUES ($1, $2, $3, $4, $5)
                 ON CONFLICT (job_id, step, path) DO UPDATE SET volume_id = excluded.volume_id,
                   expires_at = excluded.expires_at"
            ))
            .bind(job.0)
            .bind(step)
            .bind(cache.path)
            .bind(cache.volume.as_str())
            .bind(cache.ttl.map(|ttl| now().plus(ttl).0))
            .execute(&mut tx)
            .await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// Forgets the caches of a job's step, all or the one at `path`; how many that were.
    pub async fn clear_task_caches(
        &self,
        job: JobId,
        step: &str,
        path: Option<&str>,
    ) -> Result<u64> {
        query(sql!(
            "DELETE FROM task_caches WHERE job_id = $1 AND step = $2
               AND (path = $3 OR CAST($3 AS TEXT) IS NULL)"
        ))
        .bind(job.0)
        .bind(step)
        .bind(path)
        .execute(&self.write)
        .await
    }

    /// Forgets caches that no build came back for in time, and those of jobs that are gone or
    /// archived, a part of them at a time; returns their number.
    pub async fn collect_task_caches(&self, most: i64) -> Result<u64> {
        query(sql!(
            "DELETE FROM task_caches WHERE volume_id IN (
               SELECT c.volume_id FROM task_caches c
               WHERE c.expires_at IS NOT NULL AND c.expires_at <= $1
               UNION
               SELECT c.volume_id FROM task_caches c JOIN jobs j ON j.id = c.job_id
               JOIN pipelines p ON p.id = j.pipeline_id WHERE NOT j.active OR p.archived
               LIMIT $2)"
        ))
        .bind(now().0)
        .bind(most)
        .execute(&self.write)
        .await
    }
}

#[cfg(test)]
mod tests;
