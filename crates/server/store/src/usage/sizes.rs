//! The sizes of volumes and logs, as far as quotas want them.

use std::collections::HashSet;

use airside_model::{BuildId, Quota, ResourceId, TeamId, VolumeId};

use crate::{
    News, Result, Store,
    db::{fetch_for, query, query_as, query_scalar, sql},
    patience::patiently,
};

impl Store {
    /// Notes how large a volume of the team is.
    pub async fn note_volume_size(&self, team: TeamId, id: &VolumeId, bytes: u64) -> Result<()> {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        patiently!(self, Same, {
            query(sql!(
                "INSERT INTO volume_sizes (volume_id, team_id, bytes) VALUES ($1, $2, $3)
                 ON CONFLICT (volume_id) DO UPDATE SET bytes = excluded.bytes"
            ))
            .bind(id.as_str())
            .bind(team.0)
            .bind(bytes)
            .execute(&self.write)
            .await?;
            Ok(())
        })
    }

    /// Returns those of these volumes whose size is not known, each with its team; none where no
    /// team has a quota of them.
    pub async fn unmeasured_volumes(&self, there: &[VolumeId]) -> Result<Vec<(VolumeId, TeamId)>> {
        if !self.quotas.has(Quota::Volumes) {
            return Ok(Vec::new());
        }
        let ids = there.iter().map(|id| id.as_str().into()).collect();
        let head = "SELECT volume_id FROM volume_sizes WHERE bytes >= $1 AND volume_id IN";
        let rows: Vec<(String,)> = fetch_for(&self.read, head, 0_i64.into(), ids).await?;
        let known: HashSet<String> = rows.into_iter().map(|(id,)| id).collect();
        let mut found = Vec::new();
        for id in there.iter().filter(|id| !known.contains(id.as_str())) {
            if let Some(team) = self.volume_team(id).await? {
                found.push((id.clone(), team));
            }
        }
        Ok(found)
    }

    async fn volume_team(&self, id: &VolumeId) -> Result<Option<TeamId>> {
        let team: Option<i64> = query_scalar(sql!(
            "SELECT b.team_id FROM volumes v JOIN builds b ON b.id = v.build_id WHERE v.id = $1
             UNION ALL SELECT r.team_id FROM resource_caches r WHERE r.volume_id = $1
             UNION ALL SELECT a.team_id FROM artifacts a WHERE a.volume_id = $1
             LIMIT 1"
        ))
        .bind(id.as_str())
        .fetch_optional(&self.read)
        .await?;
        Ok(team.map(TeamId))
    }

    /// Forgets the sizes of volumes that are not there any more; how many.
    pub async fn forget_sizes_but_of(&self, there: &[VolumeId]) -> Result<u64> {
        let there: HashSet<&str> = there.iter().map(VolumeId::as_str).collect();
        let rows: Vec<(String,)> = query_as(sql!("SELECT volume_id FROM volume_sizes"))
            .fetch_all(&self.read)
            .await?;
        let mut forgotten = 0;
        for (id,) in rows.iter().filter(|(id,)| !there.contains(id.as_str())) {
            forgotten += query(sql!("DELETE FROM volume_sizes WHERE volume_id = $1"))
                .bind(id)
                .execute(&self.write)
                .await?;
        }
        Ok(forgotten)
    }

    /// Notes how large a build's log is by now.
    pub async fn note_log_size(&self, build: BuildId, bytes: u64) -> Result<()> {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        patiently!(self, Same, {
            query(sql!(
                "INSERT INTO build_logs (build_id, team_id, bytes)
                 SELECT id, team_id, $2 FROM builds WHERE id = $1 AND reaped_at IS NULL
                 ON CONFLICT (build_id) DO UPDATE SET bytes = excluded.bytes"
            ))
            .bind(build.0)
            .bind(bytes)
            .execute(&self.write)
            .await?;
            Ok(())
        })
    }

    /// Forgets versions beyond their team's quota, the oldest first, a part of them at a time, and
    /// returns their number. Versions stay that a build had or is about to have, or that a user
    /// disabled or pinned.
    pub async fn collect_versions_beyond_quota(&self, most: i64) -> Result<u64> {
        if !self.quotas.has(Quota::Versions) {
            return Ok(0);
        }
        let teams: Vec<(i64, String)> = query_as(sql!("SELECT id, name FROM teams"))
            .fetch_all(&self.read)
            .await?;
        let mut gone = 0;
        for (team, name) in teams {
            let Some(limit) = self.quotas.limit(&name, Quota::Versions) else {
                continue;
            };
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            for resource in self.with_more_versions(TeamId(team), limit).await? {
                gone += self.forget_versions_beyond(resource, limit, most).await?;
            }
        }
        Ok(gone)
    }

    async fn with_more_versions(&self, team: TeamId, limit: i64) -> Result<Vec<ResourceId>> {
        let rows: Vec<i64> = query_scalar(sql!(
            "SELECT r.id FROM pipelines p JOIN resources r ON r.pipeline_id = p.id AND r.active
             JOIN resource_versions v ON v.resource_id = r.id AND v.scope = r.scope
             WHERE p.team_id = $1 AND NOT p.destroyed GROUP BY r.id HAVING count(*) > $2"
        ))
        .bind(team.0)
        .bind(limit)
        .fetch_all(&self.read)
        .await?;
        Ok(rows.into_iter().map(ResourceId).collect())
    }

    async fn forget_versions_beyond(
        &self,
        resource: ResourceId,
        limit: i64,
        most: i64,
    ) -> Result<u64> {
        let _turn = self.turn.lock().await;
        let gone = query(sql!(
            "DELETE FROM resource_versions WHERE id IN (
               SELECT v.id FROM resource_versions v JOIN resources r ON r.id = v.resource_id
               WHERE r.id = $1 AND v.scope = r.scope AND v.enabled
                 AND v.check_order <= (SELECT o.check_order FROM resource_versions o
                   WHERE o.resource_id = r.id AND o.scope = r.scope
                   ORDER BY o.check_order DESC LIMIT 1 OFFSET $2)
                 AND (r.pin IS NULL OR r.pin <> v.version)
                 AND NOT EXISTS (SELECT 1 FROM build_inputs i WHERE i.version_id = v.id)
                 AND NOT EXISTS (SELECT 1 FROM build_outputs o WHERE o.version_id = v.id)
                 AND NOT EXISTS (SELECT 1 FROM build_carries c WHERE c.version_id = v.id)
                 AND NOT EXISTS (SELECT 1 FROM next_inputs n WHERE n.version_id = v.id)
               ORDER BY v.check_order LIMIT $3)"
        ))
        .bind(resource.0)
        .bind(limit)
        .bind(most)
        .execute(&self.write)
        .await?;
        if gone > 0 {
            self.announce(News::HistoryChanged(resource));
        }
        Ok(gone)
    }
}
