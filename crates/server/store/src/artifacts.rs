//! Artifacts: uploads for builds, and outputs of builds that can be downloaded.

use airside_model::{BuildId, TeamId, VolumeId};

use crate::{
    Lease, Micros, Result, Store,
    db::{here, query, query_as, query_scalar, sql},
    now,
};

/// An artifact's id, under `fly`'s name for the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(transparent)]
pub struct ArtifactId(pub i64);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    pub id: ArtifactId,
    pub name: String,
    /// The build that made it; none if it was uploaded.
    pub build: Option<BuildId>,
    pub volume: VolumeId,
    pub created_at: Micros,
}

type Row = (i64, String, Option<i64>, String, i64);

fn artifact((id, name, build, volume, created_at): Row) -> Artifact {
    Artifact {
        id: ArtifactId(id),
        name,
        build: build.map(BuildId),
        volume: VolumeId(volume),
        created_at: Micros(created_at),
    }
}

impl Store {
    /// Announces an upload before anything of it is written, so that no tree is ever unknown.
    pub async fn announce_artifact(&self, team: TeamId, volume: &VolumeId) -> Result<Artifact> {
        let created_at = now();
        let id = query_scalar(sql!(
            "INSERT INTO artifacts (team_id, name, volume_id, created_at)
             VALUES ($1, '', $2, $3) RETURNING id"
        ))
        .bind(team.0)
        .bind(volume.as_str())
        .bind(created_at.0)
        .fetch_one(&self.write)
        .await?;
        Ok(Artifact {
            id: ArtifactId(id),
            name: String::new(),
            build: None,
            volume: volume.clone(),
            created_at,
        })
    }

    /// The upload failed.
    pub async fn forget_artifact(&self, id: ArtifactId) -> Result<()> {
        query(sql!("DELETE FROM artifacts WHERE id = $1"))
            .bind(id.0)
            .execute(&self.write)
            .await?;
        Ok(())
    }

    /// Lets one of the build's artifacts be downloaded; again is fine.
    pub async fn offer_artifact(&self, lease: &Lease, name: &str, volume: &VolumeId) -> Result<()> {
        let mut tx = self.write.begin(here!()).await?;
        lease.check(&mut tx).await?;
        query(sql!(
            "INSERT INTO artifacts (team_id, name, build_id, volume_id, created_at)
             SELECT team_id, $1, id, $2, $3 FROM builds WHERE id = $4
             ON CONFLICT (build_id, name) DO UPDATE SET volume_id = $2"
        ))
        .bind(name)
        .bind(volume.as_str())
        .bind(now().0)
        .bind(lease.build.0)
        .execute(&mut tx)
        .await?;
        tx.commit().await?;
        Ok(())
    }

    /// An artifact of the build's own team, which from now on stays at least until the build ends.
    pub async fn use_artifact(&self, lease: &Lease, id: i64) -> Result<Option<Artifact>> {
        let mut tx = self.write.begin(here!()).await?;
        lease.check(&mut tx).await?;
        let row: Option<Row> = query_as(sql!(
            "UPDATE artifacts SET used_by = $1
             WHERE id = $2 AND team_id = (SELECT team_id FROM builds WHERE id = $1)
             RETURNING id, name, build_id, volume_id, created_at"
        ))
        .bind(lease.build.0)
        .bind(id)
        .fetch_optional(&mut tx)
        .await?;
        tx.commit().await?;
        Ok(row.map(artifact))
    }

    pub async fn artifact(&self, team: TeamId, id: i64) -> Result<Option<Artifact>> {
        let row: Option<Row> = query_as(sql!(
            "SELECT id, name, build_id, volume_id, created_at FROM artifacts
             WHERE id = $1 AND team_id = $2"
        ))
        .bind(id)
        .bind(team.0)
        .fetch_optional(&self.read)
        .await?;
        Ok(row.map(artifact))
    }

    pub async fn build_artifacts(&self, build: BuildId) -> Result<Vec<Artifact>> {
        let rows: Vec<Row> = query_as(sql!(
            "SELECT id, name, build_id, volume_id, created_at FROM artifacts
             WHERE build_id = $1 ORDER BY id"
        ))
        .bind(build.0)
        .fetch_all(&self.read)
        .await?;
        Ok(rows.into_iter().map(artifact).collect())
    }

    /// Forgets those made before `then` that no unfinished build made or uses, a part of them at a
    /// time; how many. The collector removes their volumes.
    pub async fn expire_artifacts(&self, then: Micros, most: i64) -> Result<u64> {
        query(sql!(
            "DELETE FROM artifacts WHERE id IN (
               SELECT a.id FROM artifacts a WHERE a.created_at < $1 AND NOT EXISTS (
                 SELECT 1 FROM builds b WHERE b.status IN ('pending', 'started')
                   AND b.id IN (a.build_id, a.used_by))
               LIMIT $2)"
        ))
        .bind(then.0)
        .bind(most)
        .execute(&self.write)
        .await
    }
}
