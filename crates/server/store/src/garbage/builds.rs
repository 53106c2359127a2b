//! Builds that are old: their logs first, themselves later.

use airside_model::{BuildId, BuildStatus, JobId, TeamId};

use crate::{
    Micros, News, Result, Store, corrupt,
    db::{execute_for, fetch_for, here, query_as, query_scalar, sql},
    now,
};

/// A job whose logs may be reaped, with what its configuration says of that ([`crate::SaveJob`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetainedJob {
    pub id: JobId,
    pub outline: String,
}

/// The job or resource whose builds are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoggedOf {
    Job(JobId),
    /// Builds of the team that belong to no job.
    OneOffs(TeamId),
}

/// A finished build whose log is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logged {
    pub build: BuildId,
    pub status: BuildStatus,
    pub ended_at: Micros,
}

impl Store {
    /// All jobs that neither rest themselves nor in a pipeline that does: what rests keeps its
    /// logs. Those that the configuration does not have any more count as it last had them.
    pub async fn retained_jobs(&self) -> Result<Vec<RetainedJob>> {
        let rows: Vec<(i64, String)> = query_as(sql!(
            "SELECT j.id, j.outline FROM jobs j JOIN pipelines p ON p.id = j.pipeline_id
             WHERE NOT j.paused AND (NOT p.paused OR p.archived) AND NOT p.destroyed ORDER BY j.id"
        ))
        .fetch_all(&self.read)
        .await?;
        Ok(rows.into_iter().map(retained).collect())
    }

    /// One of them.
    pub async fn retained_job(&self, job: JobId) -> Result<Option<RetainedJob>> {
        let row: Option<(i64, String)> = query_as(sql!(
            "SELECT j.id, j.outline FROM jobs j JOIN pipelines p ON p.id = j.pipeline_id
             WHERE j.id = $1 AND NOT j.paused AND (NOT p.paused OR p.archived) AND NOT p.destroyed"
        ))
        .bind(job.0)
        .fetch_optional(&self.read)
        .await?;
        Ok(row.map(retained))
    }

    /// Finished builds with a log, the newest first, older than `before` if that is given.
    pub async fn logged_builds(
        &self,
        of: LoggedOf,
        before: Option<BuildId>,
        most: i64,
    ) -> Result<Vec<Logged>> {
        let before = before.map_or(i64::MAX, |build| build.0);
        let (statement, id) = match of {
            LoggedOf::Job(job) => (
                sql!(
                    "SELECT id, status, ended_at FROM builds WHERE job_id = $1 AND id < $2
                       AND reaped_at IS NULL AND job_id IS NOT NULL
                       AND log_closed AND ended_at IS NOT NULL ORDER BY id DESC LIMIT $3"
                ),
                job.0,
            ),
            LoggedOf::OneOffs(team) => (
                sql!(
                    "SELECT id, status, ended_at FROM builds WHERE team_id = $1 AND id < $2
                       AND reaped_at IS NULL AND job_id IS NULL AND NOT is_check
                       AND log_closed AND ended_at IS NOT NULL ORDER BY id DESC LIMIT $3"
                ),
                team.0,
            ),
        };
        let rows: Vec<(i64, String, i64)> = query_as(statement)
            .bind(id)
            .bind(before)
            .bind(most)
            .fetch_all(&self.read)
            .await?;
        rows.into_iter().map(logged).collect()
    }

    /// Says that the logs of these finished builds are gone, and removes what else of them takes
    /// room. The log itself is removed afterwards: one of a reaped build is garbage, whatever
    /// happens in between.
    pub async fn reap_builds(&self, builds: &[BuildId]) -> Result<()> {
        let ids: Vec<i64> = builds.iter().map(|build| build.0).collect();
        let mut tx = self.write.begin(here!()).await?;
        let reaped = format!(
            "UPDATE builds SET reaped_at = {}, plan = NULL WHERE reaped_at IS NULL
               AND ended_at IS NOT NULL AND id IN",
            now().0
        );
        execute_for(&mut tx, &reaped, &ids).await?;
        for head in [
            "DELETE FROM build_logs WHERE build_id IN",
            "DELETE FROM build_nodes WHERE build_id IN",
            "DELETE FROM build_node_starts WHERE build_id IN",
            "DELETE FROM volume_uses WHERE build_id IN",
        ] {
            execute_for(&mut tx, head, &ids).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// Returns those of these builds whose log is garbage: they are gone, or reaped.
    pub async fn without_log(&self, builds: &[BuildId]) -> Result<Vec<BuildId>> {
        let ids: Vec<_> = builds.iter().map(|build| build.0.into()).collect();
        let head = "SELECT id FROM builds WHERE id > $1 AND reaped_at IS NULL AND id IN";
        let rows: Vec<(i64,)> = fetch_for(&self.read, head, (-1_i64).into(), ids).await?;
        let needed: std::collections::HashSet<i64> = rows.into_iter().map(|(id,)| id).collect();
        let garbage = builds.iter().filter(|build| !needed.contains(&build.0));
        Ok(garbage.copied().collect())
    }

    /// Returns true if more than `number` builds were reaped and are still there.
    pub async fn has_reaped_beyond(&self, of: LoggedOf, number: i64) -> Result<bool> {
        let (statement, id) = match of {
            LoggedOf::Job(job) => (
                sql!(
                    "SELECT id FROM builds WHERE job_id = $1 AND reaped_at IS NOT NULL
                       AND job_id IS NOT NULL ORDER BY id DESC LIMIT 1 OFFSET $2"
                ),
                job.0,
            ),
            LoggedOf::OneOffs(team) => (
                sql!(
                    "SELECT id FROM builds WHERE team_id = $1 AND reaped_at IS NOT NULL
                       AND job_id IS NULL ORDER BY id DESC LIMIT 1 OFFSET $2"
                ),
                team.0,
            ),
        };
        let row: Option<i64> = query_scalar(statement)
            .bind(id)
            .bind(number)
            .fetch_optional(&self.read)
            .await?;
        Ok(row.is_some())
    }

    /// Forgets reaped builds but for the newest `keep`, a part of them at a time, and returns their
    /// number. Builds stay that a rerun stands behind, whose volumes are in use (a task's cache),
    /// and through which a job gets the inputs of its next build.
    pub async fn forget_reaped(&self, of: LoggedOf, keep: i64, most: i64) -> Result<u64> {
        let (statement, id) = match of {
            LoggedOf::Job(job) => (
                sql!(
                    "SELECT b.id FROM builds b WHERE b.job_id = $1 AND b.reaped_at IS NOT NULL
                       AND b.job_id IS NOT NULL
                       AND NOT EXISTS (SELECT 1 FROM builds r WHERE r.rerun_of = b.id)
                       AND NOT EXISTS (SELECT 1 FROM volumes v WHERE v.build_id = b.id)
                       AND NOT EXISTS (SELECT 1 FROM build_carries c
                         JOIN next_inputs n ON n.version_id = c.version_id WHERE c.build_id = b.id)
                     ORDER BY b.id DESC LIMIT $2 OFFSET $3"
                ),
                job.0,
            ),
            LoggedOf::OneOffs(team) => (
                sql!(
                    "SELECT b.id FROM builds b WHERE b.team_id = $1 AND b.reaped_at IS NOT NULL
                       AND b.job_id IS NULL ORDER BY b.id DESC LIMIT $2 OFFSET $3"
                ),
                team.0,
            ),
        };
        let ids: Vec<i64> = query_scalar(statement)
            .bind(id)
            .bind(most)
            .bind(keep)
            .fetch_all(&self.read)
            .await?;
        if ids.is_empty() {
            return Ok(0);
        }
        let mut tx = self.write.begin(here!()).await?;
        execute_for(&mut tx, "DELETE FROM builds WHERE id IN", &ids).await?;
        tx.commit().await?;
        if let LoggedOf::Job(job) = of {
            self.announce(News::BuildsForgotten(job));
        }
        Ok(ids.len() as u64)
    }
}

fn retained((id, outline): (i64, String)) -> RetainedJob {
    RetainedJob {
        id: JobId(id),
        outline,
    }
}

fn logged((id, status, ended_at): (i64, String, i64)) -> Result<Logged> {
    Ok(Logged {
        build: BuildId(id),
        status: BuildStatus::parse(&status)
            .ok_or_else(|| corrupt(format!("build status {status}")))?,
        ended_at: Micros(ended_at),
    })
}
