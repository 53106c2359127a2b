//! The status of a job's latest finished build, kept on the job with the time since which it has
//! been that one: dashboards show both for all jobs at once.

use airside_model::{BuildId, BuildStatus, JobId};

use crate::{
    Micros, Result,
    db::{Tx, query, sql},
};

/// Notes that a build of the job finished. A rerun counts as its original does, so one of an old
/// build changes nothing.
pub(super) async fn note(
    tx: &mut Tx,
    job: JobId,
    build: BuildId,
    status: BuildStatus,
    ended_at: Micros,
) -> Result<()> {
    query(sql!(
        "UPDATE jobs SET latest_status = $1,
           transition_at = CASE WHEN latest_status = $1 THEN transition_at ELSE $2 END
         WHERE id = $3 AND $4 = (SELECT b.id FROM builds b
           WHERE b.job_id = $3 AND b.status NOT IN ('pending', 'started')
           ORDER BY coalesce(b.rerun_of, b.id) DESC, b.id DESC LIMIT 1)"
    ))
    .bind(status.as_str())
    .bind(ended_at.0)
    .bind(job.0)
    .bind(build.0)
    .execute(tx)
    .await?;
    Ok(())
}
