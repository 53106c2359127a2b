//! Rows that outlived what they belong to.

use std::collections::HashSet;

use airside_model::VolumeId;

use crate::{
    Micros, Result, Store,
    db::{fetch_for, query, sql},
};

impl Store {
    /// Forgets versions that no resource has any more and no build had, a part of them at a time,
    /// and returns their number. Disabled ones stay: a user meant them.
    pub async fn collect_versions(&self, most: i64) -> Result<u64> {
        query(sql!(
            "DELETE FROM resource_versions WHERE id IN (
               SELECT v.id FROM resource_versions v JOIN resources r ON r.id = v.resource_id
               WHERE (v.scope < r.scope OR NOT r.active) AND v.enabled
                 AND NOT EXISTS (SELECT 1 FROM build_inputs i WHERE i.version_id = v.id)
                 AND NOT EXISTS (SELECT 1 FROM build_outputs o WHERE o.version_id = v.id)
               LIMIT $1)"
        ))
        .bind(most)
        .execute(&self.write)
        .await
    }

    /// Forgets resources that the configuration does not have any more and of which nothing is
    /// left.
    pub async fn collect_resources(&self, most: i64) -> Result<u64> {
        query(sql!(
            "DELETE FROM resources WHERE id IN (
               SELECT r.id FROM resources r WHERE NOT r.active
                 AND NOT EXISTS (SELECT 1 FROM resource_versions v WHERE v.resource_id = r.id)
                 AND NOT EXISTS (SELECT 1 FROM builds b WHERE b.resource_id = r.id
                   AND b.resource_id IS NOT NULL AND b.status IN ('pending', 'started'))
               LIMIT $1)"
        ))
        .bind(most)
        .execute(&self.write)
        .await
    }

    /// Forgets jobs that the configuration does not have any more and that have no build left.
    pub async fn collect_jobs(&self, most: i64) -> Result<u64> {
        query(sql!(
            "DELETE FROM jobs WHERE id IN (
               SELECT j.id FROM jobs j WHERE NOT j.active
                 AND NOT EXISTS (SELECT 1 FROM builds b WHERE b.job_id = j.id)
               LIMIT $1)"
        ))
        .bind(most)
        .execute(&self.write)
        .await
    }

    /// Forgets containers of finished builds on workers that are not configured any more: no server
    /// can look whether they are still there.
    pub async fn collect_orphaned_containers(&self, most: i64) -> Result<u64> {
        query(sql!(
            "DELETE FROM containers WHERE handle IN (
               SELECT c.handle FROM containers c JOIN builds b ON b.id = c.build_id
               WHERE b.status NOT IN ('pending', 'started')
                 AND NOT EXISTS (SELECT 1 FROM workers w WHERE w.name = c.worker)
               LIMIT $1)"
        ))
        .bind(most)
        .execute(&self.write)
        .await
    }

    /// Forgets loops that no server has run since then, and that no administrator paused.
    pub async fn collect_components(&self, before: Micros, most: i64) -> Result<u64> {
        query(sql!(
            "DELETE FROM components WHERE name IN (
               SELECT name FROM components WHERE last_ran < $1 AND NOT paused LIMIT $2)"
        ))
        .bind(before.0)
        .bind(most)
        .execute(&self.write)
        .await
    }

    /// Returns those of these volumes that no row refers to.
    pub async fn unknown_volumes(&self, volumes: &[VolumeId]) -> Result<Vec<VolumeId>> {
        let mut unknown: HashSet<&str> = volumes.iter().map(VolumeId::as_str).collect();
        for head in [
            "SELECT id FROM volumes WHERE id <> $1 AND id IN",
            "SELECT volume_id FROM artifacts WHERE volume_id <> $1 AND volume_id IN",
            "SELECT volume_id FROM resource_caches WHERE volume_id <> $1 AND volume_id IN",
        ] {
            let ids = unknown.iter().map(|id| (*id).into()).collect();
            let rows: Vec<(String,)> = fetch_for(&self.read, head, "".into(), ids).await?;
            for (known,) in rows {
                unknown.remove(known.as_str());
            }
        }
        let unknown = unknown.into_iter().map(|id| VolumeId(id.to_owned()));
        Ok(unknown.collect())
    }
}
