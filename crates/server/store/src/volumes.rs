//! Volumes, each with the build that it is for.

use airside_model::{BuildId, Handle, TeamId, VolumeId, WorkerName};

use crate::{
    Lease, Result, Store,
    db::{here, query, query_as, query_scalar, sql},
    now,
    patience::patiently,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    pub id: VolumeId,
    pub build: BuildId,
    pub handle: Handle,
    pub path: String,
}

/// SQL condition: no user downloads the volume, no kept container has it mounted, it is not a
/// cache, and no unfinished build uses it.
macro_rules! unneeded {
    () => {
        "NOT EXISTS (SELECT 1 FROM artifacts a WHERE a.volume_id = v.id) \
         AND NOT EXISTS (SELECT 1 FROM containers k WHERE k.build_id = v.build_id \
           AND k.kept_at IS NOT NULL AND k.state = 'created') \
         AND NOT EXISTS (SELECT 1 FROM task_caches c WHERE c.volume_id = v.id) \
         AND NOT EXISTS (SELECT 1 FROM resource_caches r WHERE r.volume_id = v.id) \
         AND NOT EXISTS (SELECT 1 FROM volume_uses u JOIN builds o ON o.id = u.build_id \
           WHERE u.volume_id = v.id AND o.status IN ('pending', 'started'))"
    };
}

/// A volume as its team sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamVolume {
    pub id: VolumeId,
    /// The container that it came from; none if it was uploaded.
    pub handle: Option<Handle>,
    pub path: String,
    /// Worker of the volume, known as long as the container is.
    pub worker: Option<WorkerName>,
}

type Row = (String, i64, String, String);

fn volume((id, build, handle, path): Row) -> Volume {
    Volume {
        id: VolumeId(id),
        build: BuildId(build),
        handle: Handle(handle),
        path,
    }
}

impl Store {
    /// Announces a volume before anything is written to it, so that no tree is ever unknown.
    pub async fn announce_volume(
        &self,
        lease: &Lease,
        id: &VolumeId,
        handle: &Handle,
        path: &str,
    ) -> Result<()> {
        patiently!(self, Same, {
            let mut tx = self.write.begin(here!()).await?;
            lease.check(&mut tx).await?;
            query(sql!(
                "INSERT INTO volumes (id, build_id, handle, path, created_at)
                 VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO NOTHING"
            ))
            .bind(id.as_str())
            .bind(lease.build.0)
            .bind(handle.as_str())
            .bind(path)
            .bind(now().0)
            .execute(&mut tx)
            .await?;
            tx.commit().await?;
            Ok(())
        })
    }

    /// A build's volumes, but for those that others still need.
    pub async fn volumes_of_build(&self, build: BuildId) -> Result<Vec<Volume>> {
        let rows: Vec<Row> = query_as(sql!(
            "SELECT v.id, v.build_id, v.handle, v.path FROM volumes v WHERE v.build_id = $1 AND ",
            unneeded!()
        ))
        .bind(build.0)
        .fetch_all(&self.read)
        .await?;
        Ok(rows.into_iter().map(volume).collect())
    }

    /// Volumes that no unfinished build has a claim on: theirs is the garbage collector.
    pub async fn dead_volumes(&self) -> Result<Vec<VolumeId>> {
        let rows: Vec<String> = query_scalar(sql!(
            "SELECT v.id FROM volumes v JOIN builds b ON b.id = v.build_id
             WHERE b.status NOT IN ('pending', 'started') AND ",
            unneeded!()
        ))
        .fetch_all(&self.read)
        .await?;
        Ok(rows.into_iter().map(VolumeId).collect())
    }

    /// Volumes of unfinished builds.
    pub async fn volumes_in_the_making(&self) -> Result<Vec<VolumeId>> {
        let rows: Vec<String> = query_scalar(sql!(
            "SELECT v.id FROM volumes v JOIN builds b ON b.id = v.build_id
             WHERE b.status IN ('pending', 'started')"
        ))
        .fetch_all(&self.read)
        .await?;
        Ok(rows.into_iter().map(VolumeId).collect())
    }

    /// Returns true if the volume is dead, or no row refers to it at all.
    pub async fn is_dead_volume(&self, id: &VolumeId) -> Result<bool> {
        let unknown = self.unknown_volumes(std::slice::from_ref(id)).await?;
        if !unknown.is_empty() {
            return Ok(true);
        }
        let dead: Option<String> = query_scalar(sql!(
            "SELECT v.id FROM volumes v JOIN builds b ON b.id = v.build_id
             WHERE v.id = $1 AND b.status NOT IN ('pending', 'started') AND ",
            unneeded!()
        ))
        .bind(id.as_str())
        .fetch_optional(&self.read)
        .await?;
        Ok(dead.is_some())
    }

    pub async fn forget_volume(&self, id: &VolumeId) -> Result<()> {
        patiently!(self, Same, {
            let mut tx = self.write.begin(here!()).await?;
            for statement in [
                sql!("DELETE FROM volumes WHERE id = $1"),
                sql!("DELETE FROM volume_sizes WHERE volume_id = $1"),
            ] {
                query(statement).bind(id.as_str()).execute(&mut tx).await?;
            }
            tx.commit().await?;
            Ok(())
        })
    }

    /// A team's volumes with the worker whose step made each, what was uploaded for the team, and
    /// what was fetched for builds that are gone.
    pub async fn team_volumes(&self, team: TeamId) -> Result<Vec<TeamVolume>> {
        let rows: Vec<(String, String, String, Option<String>)> = query_as(sql!(
            "SELECT v.id, v.handle, v.path, c.worker FROM volumes v
             JOIN builds b ON b.id = v.build_id
             LEFT JOIN containers c ON c.handle = v.handle
             WHERE b.team_id = $1
             UNION ALL
             SELECT a.volume_id, '', '', NULL FROM artifacts a
             WHERE a.team_id = $1 AND a.build_id IS NULL
             UNION ALL
             SELECT r.volume_id, r.handle, '', NULL FROM resource_caches r
             WHERE r.team_id = $1 AND NOT EXISTS (SELECT 1 FROM volumes v WHERE v.id = r.volume_id)
             ORDER BY 1"
        ))
        .bind(team.0)
        .fetch_all(&self.read)
        .await?;
        let known = |text: String| Some(text).filter(|text| !text.is_empty());
        Ok(rows
            .into_iter()
            .map(|(id, handle, path, worker)| TeamVolume {
                id: VolumeId(id),
                handle: known(handle).map(Handle),
                path,
                worker: worker.map(WorkerName),
            })
            .collect())
    }
}
