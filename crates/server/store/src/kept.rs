//! Containers that stay after their step, for those who want to look inside. When their time is
//! over is decided elsewhere; here is what that decision needs.

use std::time::Duration;

use airside_model::{BuildId, BuildStatus, Handle, JobId};

use crate::{
    Container, Micros, Result, Store, containers, corrupt,
    db::{Tx, here, query, query_as, sql},
    now,
};

/// Time after an intercept for which a container stays: its user is likely to come back.
pub const HIJACK_GRACE: Duration = Duration::from_secs(5 * 60);

/// A kept container, and what became of its build.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptContainer {
    pub container: Container,
    pub kept_at: Micros,
    /// Time at which a check last ran in the container, if it is kept for checks.
    pub checked_at: Option<Micros>,
    pub status: BuildStatus,
    pub job: Option<JobId>,
    pub ended_at: Option<Micros>,
    /// A later build of its job has ended.
    pub superseded: bool,
    /// The epoch under which its shim was last spoken to.
    pub epoch: i64,
}

#[derive(sqlx::FromRow)]
struct Row {
    #[sqlx(flatten)]
    container: containers::Row,
    status: String,
    job_id: Option<i64>,
    ended_at: Option<i64>,
    superseded: bool,
    epoch: i64,
    checked_at: Option<i64>,
}

impl Store {
    /// Keeps a container whose step's result is committed. Returns `false` if it has no right to
    /// stay, because no shim claimed it or that right was taken back.
    pub async fn keep_container(&self, handle: &Handle) -> Result<bool> {
        let kept = query(sql!(
            "UPDATE containers SET kept_at = coalesce(kept_at, $1), request = NULL
             WHERE handle = $2 AND state = 'created' AND claimed_at IS NOT NULL"
        ))
        .bind(now().0)
        .bind(handle.as_str())
        .execute(&self.write)
        .await?;
        Ok(kept == 1)
    }

    /// A check runs in the container, which is kept for others from now on.
    pub async fn note_checked_in(&self, handle: &Handle) -> Result<()> {
        query(sql!(
            "UPDATE containers SET checked_at = $1 WHERE handle = $2"
        ))
        .bind(now().0)
        .bind(handle.as_str())
        .execute(&self.write)
        .await?;
        Ok(())
    }

    /// Records that a user intercepts the container. The user may change the files that the step
    /// fetched, so no later build finds them in the cache.
    pub async fn container_hijacked(&self, handle: &Handle) -> Result<()> {
        let mut tx = self.write.begin(here!()).await?;
        query(sql!(
            "UPDATE containers SET hijacked_at = $1 WHERE handle = $2"
        ))
        .bind(now().0)
        .bind(handle.as_str())
        .execute(&mut tx)
        .await?;
        query(sql!(
            "UPDATE resource_caches SET key = NULL WHERE handle = $1 AND key IS NOT NULL"
        ))
        .bind(handle.as_str())
        .execute(&mut tx)
        .await?;
        tx.commit().await?;
        Ok(())
    }

    /// Every kept container, those kept longest first.
    pub async fn kept_containers(&self) -> Result<Vec<KeptContainer>> {
        let rows: Vec<Row> = query_as(sql!(
            "SELECT c.handle, c.build_id, c.plan_id, c.attempt, c.placement, c.worker, c.state,
               c.labels, c.uid, c.claimed_at, c.kept_at, c.hijacked_at, c.dir, c.process_user,
               b.status, b.job_id, b.ended_at, b.epoch, c.checked_at,
               EXISTS (SELECT 1 FROM builds n WHERE n.job_id = b.job_id AND n.id > b.id
                 AND n.status NOT IN ('pending', 'started')) AS superseded
             FROM containers c JOIN builds b ON b.id = c.build_id
             WHERE c.kept_at IS NOT NULL AND c.state = 'created' ORDER BY c.kept_at, c.handle"
        ))
        .fetch_all(&self.read)
        .await?;
        rows.into_iter().map(kept).collect()
    }
}

fn kept(row: Row) -> Result<KeptContainer> {
    let container = Container::try_from(row.container)?;
    Ok(KeptContainer {
        kept_at: container
            .kept_at
            .ok_or_else(|| corrupt("a kept container without a time"))?,
        container,
        status: BuildStatus::parse(&row.status)
            .ok_or_else(|| corrupt(format!("build status {}", row.status)))?,
        job: row.job_id.map(JobId),
        ended_at: row.ended_at.map(Micros),
        superseded: row.superseded,
        checked_at: row.checked_at.map(Micros),
        epoch: row.epoch,
    })
}

/// Settles the containers of a build that ends: those of a success go, unless a user intercepts
/// them; the others stay if they were kept until now. A container that was not kept has no right to
/// live: a step that was lost may still run somewhere.
pub(crate) async fn settle(
    tx: &mut Tx,
    build: BuildId,
    status: BuildStatus,
    ended_at: Micros,
) -> Result<()> {
    let recently = ended_at.0 - HIJACK_GRACE.as_micros() as i64;
    query(sql!(
        "UPDATE containers SET state = 'destroying', request = NULL, token_hash = NULL
         WHERE build_id = $1 AND NOT (state = 'created' AND kept_at IS NOT NULL
           AND ($2 OR coalesce(hijacked_at, 0) > $3 OR checked_at IS NOT NULL))"
    ))
    .bind(build.0)
    .bind(status != BuildStatus::Succeeded)
    .bind(recently)
    .execute(&mut *tx)
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests;
