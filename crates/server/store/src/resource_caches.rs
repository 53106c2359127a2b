//! Resource caches: the results of gets, so that the same version is not fetched again within a
//! team.
//!
//! A cache is a volume that no longer belongs to the build that made it: it stays as long as a
//! build uses it that runs, can be intercepted, or is the latest of its job.

use std::time::Duration;

use airside_model::{MetadataField, ResourceId, Version, VolumeId};

use crate::{
    Lease, Micros, Result, Store,
    db::{here, query, query_as, sql},
    from_json, now, to_json,
};

/// Builds without a job use a cache for this long after their end: a user who tries something out
/// is likely to do so again.
const ONE_OFF: Duration = Duration::from_secs(3600);

/// One that was found this recently is not collected, whatever its uses look like.
const JUST_FOUND: Duration = Duration::from_secs(20);

/// The volume and metadata that a get fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceCache {
    pub volume: VolumeId,
    pub metadata: Vec<MetadataField>,
}

/// The resource that a cache is fetched for, by its name in the build's pipeline.
#[derive(Clone, Copy, Debug)]
pub struct CacheOwner<'a> {
    pub resource: &'a str,
    pub version: &'a Version,
}

impl Store {
    /// The name under which a cache is kept. It shows nothing of `identity`, which may hold
    /// secrets.
    pub fn resource_cache_key(&self, identity: &str) -> String {
        self.sealer()
            .fingerprint("resource cache", identity.as_bytes())
    }

    /// Returns the cache under this key for the build's team, if it is still there. From now on the
    /// build uses it.
    pub async fn use_resource_cache(
        &self,
        lease: &Lease,
        key: &str,
        owner: CacheOwner<'_>,
    ) -> Result<Option<ResourceCache>> {
        let mut tx = self.write.begin(here!()).await?;
        lease.check(&mut tx).await?;
        // A write, so that a collection at the same time looks at the row again.
        let row: Option<(String, String)> = query_as(sql!(
            "UPDATE resource_caches SET used_at = $1
             WHERE key = $2 AND team_id = (SELECT team_id FROM builds WHERE id = $3)
               AND EXISTS (SELECT 1 FROM resource_cache_uses u
                 WHERE u.volume_id = resource_caches.volume_id)
             RETURNING volume_id, metadata"
        ))
        .bind(now().0)
        .bind(key)
        .bind(lease.build.0)
        .fetch_optional(&mut tx)
        .await?;
        let Some((volume, metadata)) = row else {
            return Ok(None);
        };
        note_use(&mut tx, lease, &volume).await?;
        note_owner(&mut tx, lease, &volume, owner).await?;
        tx.commit().await?;
        Ok(Some(ResourceCache {
            volume: VolumeId(volume),
            metadata: from_json(&metadata, "metadata of a resource cache")?,
        }))
    }

    /// Keeps the result of a get of the build for others to find. Returns `false` if it is not
    /// kept: a user intercepted the get, or another build keeps an equal one already.
    pub async fn save_resource_cache(
        &self,
        lease: &Lease,
        key: &str,
        fetched: &ResourceCache,
        owner: CacheOwner<'_>,
    ) -> Result<bool> {
        let mut tx = self.write.begin(here!()).await?;
        lease.check(&mut tx).await?;
        let volume = fetched.volume.as_str();
        // A write, so that a user who begins to intercept waits, and then sees the cache.
        let untouched: Option<(String,)> = query_as(sql!(
            "UPDATE containers SET hijacked_at = hijacked_at
             WHERE hijacked_at IS NULL AND handle = (SELECT handle FROM volumes WHERE id = $1)
             RETURNING handle"
        ))
        .bind(volume)
        .fetch_optional(&mut tx)
        .await?;
        let Some((handle,)) = untouched else {
            return Ok(false);
        };
        query(sql!(
            "UPDATE resource_caches SET key = NULL
             WHERE key = $1 AND team_id = (SELECT team_id FROM builds WHERE id = $2)
               AND NOT EXISTS (SELECT 1 FROM resource_cache_uses u
                 WHERE u.volume_id = resource_caches.volume_id)"
        ))
        .bind(key)
        .bind(lease.build.0)
        .execute(&mut tx)
        .await?;
        let added = query(sql!(
            "INSERT INTO resource_caches (volume_id, team_id, key, handle, metadata, used_at)
             SELECT $1, team_id, $2, $3, $4, $5 FROM builds WHERE id = $6
             ON CONFLICT DO NOTHING"
        ))
        .bind(volume)
        .bind(key)
        .bind(handle)
        .bind(to_json(&fetched.metadata))
        .bind(now().0)
        .bind(lease.build.0)
        .execute(&mut tx)
        .await?;
        if added == 1 {
            note_use(&mut tx, lease, volume).await?;
            note_owner(&mut tx, lease, volume, owner).await?;
        }
        tx.commit().await?;
        Ok(added == 1)
    }

    /// Forgets a cache whose volume is not there any more, so that no build finds it again.
    pub async fn forget_resource_cache(&self, volume: &VolumeId) -> Result<()> {
        query(sql!("DELETE FROM resource_caches WHERE volume_id = $1"))
            .bind(volume.as_str())
            .execute(&self.write)
            .await?;
        Ok(())
    }

    /// Hides the caches of a resource from later builds, of all versions or of those with these
    /// fields, and returns their number. A build that uses one goes on.
    pub async fn clear_resource_caches(
        &self,
        resource: ResourceId,
        wanted: Option<&Version>,
    ) -> Result<u64> {
        let mut tx = self.write.begin(here!()).await?;
        let rows: Vec<(String, String)> = query_as(sql!(
            "SELECT volume_id, version FROM resource_cache_owners WHERE resource_id = $1"
        ))
        .bind(resource.0)
        .fetch_all(&mut tx)
        .await?;
        let mut cleared = 0;
        for (volume, version) in rows {
            let version: Version = from_json(&version, "version of a resource cache")?;
            let fits = |wanted: &Version| {
                let mut fields = wanted.0.iter();
                fields.all(|(key, value)| version.0.get(key) == Some(value))
            };
            if wanted.is_none_or(fits) {
                cleared += query(sql!(
                    "UPDATE resource_caches SET key = NULL WHERE volume_id = $1 AND key IS NOT NULL"
                ))
                .bind(volume)
                .execute(&mut tx)
                .await?;
            }
        }
        tx.commit().await?;
        Ok(cleared)
    }

    /// Forgets uses that count no longer, and then caches without a use, a part of them at a time;
    /// returns the number of caches. Their volumes are left to the sweeper.
    pub async fn collect_resource_caches(&self, most: i64) -> Result<u64> {
        self.collect_resource_caches_at(now(), most).await
    }

    async fn collect_resource_caches_at(&self, now: Micros, most: i64) -> Result<u64> {
        while self.forget_uses_at(now, most).await? == most as u64 {}
        query(sql!(
            "DELETE FROM resource_caches WHERE volume_id IN (
               SELECT r.volume_id FROM resource_caches r WHERE r.used_at < $1 AND NOT EXISTS (
                 SELECT 1 FROM resource_cache_uses u WHERE u.volume_id = r.volume_id) LIMIT $2)"
        ))
        .bind(now.0 - JUST_FOUND.as_micros() as i64)
        .bind(most)
        .execute(&self.write)
        .await
    }

    async fn forget_uses_at(&self, now: Micros, most: i64) -> Result<u64> {
        query(sql!(
            "DELETE FROM resource_cache_uses WHERE (build_id, volume_id) IN (
               SELECT u.build_id, u.volume_id FROM resource_cache_uses u WHERE NOT EXISTS (
                 SELECT 1 FROM builds b WHERE b.id = u.build_id AND (
                   b.status IN ('pending', 'started')
                   OR EXISTS (SELECT 1 FROM containers k WHERE k.build_id = b.id
                     AND k.kept_at IS NOT NULL AND k.state = 'created')
                   OR (b.job_id IS NULL AND b.ended_at > $1)
                   OR (b.job_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM builds n
                     WHERE n.job_id = b.job_id AND n.id > b.id
                       AND n.status NOT IN ('pending', 'started')))))
               LIMIT $2)"
        ))
        .bind(now.0 - ONE_OFF.as_micros() as i64)
        .bind(most)
        .execute(&self.write)
        .await
    }
}

async fn note_owner(
    tx: &mut crate::db::Tx,
    lease: &Lease,
    volume: &str,
    owner: CacheOwner<'_>,
) -> Result<()> {
    query(sql!(
        "INSERT INTO resource_cache_owners (resource_id, volume_id, version)
         SELECT r.id, $1, $2 FROM resources r JOIN builds b ON b.pipeline_id = r.pipeline_id
         WHERE b.id = $3 AND r.name = $4
         ON CONFLICT (resource_id, volume_id) DO NOTHING"
    ))
    .bind(volume)
    .bind(to_json(owner.version))
    .bind(lease.build.0)
    .bind(owner.resource)
    .execute(tx)
    .await?;
    Ok(())
}

async fn note_use(tx: &mut crate::db::Tx, lease: &Lease, volume: &str) -> Result<()> {
    query(sql!(
        "INSERT INTO resource_cache_uses (build_id, volume_id) VALUES ($1, $2)
         ON CONFLICT (build_id, volume_id) DO NOTHING"
    ))
    .bind(lease.build.0)
    .bind(volume)
    .execute(tx)
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests;
