//! Builds as the scheduler creates and sees them.

use airside_model::{BuildId, BuildStatus, JobId, PipelineId};

use super::{Build, fetch};
use crate::{
    Micros, News, Result, ShownChange, Store, corrupt,
    db::{Tx, here, query, query_as, query_scalar, sql},
    now,
    patience::patiently,
};

/// The build that a rerun repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RerunOf {
    /// Build to repeat, which is never a rerun itself.
    pub build: BuildId,
    pub name: String,
    /// The how-manieth rerun it is.
    pub number: i64,
}

/// A build of a job that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfinished {
    pub id: BuildId,
    pub job: JobId,
    /// The build that it repeats, or itself.
    pub original: BuildId,
    pub manual: bool,
    pub created_at: Micros,
    pub aborted: bool,
    /// Started, or about to: it holds its place among those that run.
    pub runs: bool,
    pub has_started: bool,
}

type UnfinishedRow = (i64, i64, i64, bool, i64, bool, bool, String);

impl Store {
    /// Creates a pending build because a trigger has a new version, unless one waits already.
    pub async fn create_triggered_build(&self, job: JobId) -> Result<Option<BuildId>> {
        patiently!(self, Same, {
            let mut tx = self.write.begin(here!()).await?;
            // First, so that no other server creates one meanwhile.
            let number: Option<(i64, i64)> = query_as(sql!(
                "UPDATE jobs SET build_number = build_number + 1 WHERE id = $1
                 RETURNING build_number, pipeline_id"
            ))
            .bind(job.0)
            .fetch_optional(&mut tx)
            .await?;
            let Some((number, pipeline)) = number else {
                return Ok(None);
            };
            let waits: i64 = query_scalar(sql!(
                "SELECT count(*) FROM builds
                 WHERE job_id = $1 AND status = 'pending' AND NOT inputs_ready"
            ))
            .bind(job.0)
            .fetch_one(&mut tx)
            .await?;
            if waits > 0 {
                return Ok(None);
            }
            let id: i64 = query_scalar(sql!(
                "INSERT INTO builds (team_id, pipeline_id, job_id, name, status, created_at, manual)
                 SELECT team_id, id, $1, $2, 'pending', $3, FALSE FROM pipelines WHERE id = $4 AND NOT destroyed
                 RETURNING id"
            ))
            .bind(job.0)
            .bind(number.to_string())
            .bind(now().0)
            .bind(pipeline)
            .fetch_one(&mut tx)
            .await?;
            tx.commit().await?;
            let build = BuildId(id);
            self.announce(News::BuildCreated { build, job });
            Ok(Some(build))
        })
    }

    /// Creates a build that repeats another with the same inputs, named after it.
    pub async fn create_rerun(&self, of: &Build, created_by: &str) -> Result<Build> {
        let mut tx = self.write.begin(here!()).await?;
        let build = rerun_within(&mut tx, of, created_by).await?;
        tx.commit().await?;
        if let Some(job) = of.job {
            self.announce_created(build.id, job);
        }
        Ok(build)
    }

    pub async fn set_build_comment(&self, build: BuildId, comment: &str) -> Result<()> {
        query(sql!("UPDATE builds SET comment = $1 WHERE id = $2"))
            .bind(comment)
            .bind(build.0)
            .execute(&self.write)
            .await?;
        self.show(ShownChange::BuildChanged(build));
        Ok(())
    }

    /// The pipeline's builds of jobs that have not ended, in the order in which they are to start.
    pub async fn unfinished_of(&self, pipeline: PipelineId) -> Result<Vec<Unfinished>> {
        let rows: Vec<UnfinishedRow> = query_as(sql!(
            "SELECT id, job_id, coalesce(rerun_of, id), manual, created_at, aborted, inputs_ready,
               status
             FROM builds WHERE pipeline_id = $1 AND status IN ('pending', 'started')
               AND job_id IS NOT NULL
             ORDER BY coalesce(rerun_of, id), id"
        ))
        .bind(pipeline.0)
        .fetch_all(&self.read)
        .await?;
        Ok(rows.into_iter().map(unfinished).collect())
    }

    /// The jobs that have unfinished builds, with their pipelines.
    pub async fn jobs_with_unfinished(&self) -> Result<Vec<(PipelineId, JobId)>> {
        let rows: Vec<(i64, i64)> = query_as(sql!(
            "SELECT DISTINCT pipeline_id, job_id FROM builds
             WHERE status IN ('pending', 'started') AND pipeline_id IS NOT NULL
               AND job_id IS NOT NULL"
        ))
        .fetch_all(&self.read)
        .await?;
        let rows = rows.into_iter();
        Ok(rows
            .map(|(pipeline, job)| (PipelineId(pipeline), JobId(job)))
            .collect())
    }

    /// The build that people are shown as the job's next: the oldest that has not ended. Reruns of
    /// builds before the latest are of the past.
    pub async fn next_build(&self, job: JobId) -> Result<Option<Build>> {
        let tail = "WHERE b.job_id = $1 AND b.status IN ('pending', 'started')
              AND (b.rerun_of IS NULL OR b.rerun_of = (
                SELECT coalesce(f.rerun_of, f.id) FROM builds f
                WHERE f.job_id = $1 AND f.status NOT IN ('pending', 'started')
                ORDER BY coalesce(f.rerun_of, f.id) DESC, f.id DESC LIMIT 1))
            ORDER BY coalesce(b.rerun_of, b.id), b.id LIMIT 1";
        Ok(self.list(tail, &[job.0]).await?.pop())
    }

    /// The latest that has ended. A rerun counts as its original does.
    pub async fn finished_build(&self, job: JobId) -> Result<Option<Build>> {
        let tail = "WHERE b.job_id = $1 AND b.status NOT IN ('pending', 'started')
            ORDER BY coalesce(b.rerun_of, b.id) DESC, b.id DESC LIMIT 1";
        Ok(self.list(tail, &[job.0]).await?.pop())
    }

    /// Returns true if the build has its inputs.
    pub async fn has_inputs(&self, build: BuildId) -> Result<bool> {
        let ready: Option<bool> =
            query_scalar(sql!("SELECT inputs_ready FROM builds WHERE id = $1"))
                .bind(build.0)
                .fetch_optional(&self.read)
                .await?;
        Ok(ready.unwrap_or(false))
    }
}

/// Creates a build that repeats another with the same inputs, named after it.
pub(super) async fn rerun_within(tx: &mut Tx, of: &Build, created_by: &str) -> Result<Build> {
    let original = of.rerun_of.as_ref().map_or(of.id, |rerun| rerun.build);
    // First, so that no two reruns count alike.
    query(sql!("UPDATE builds SET epoch = epoch WHERE id = $1"))
        .bind(original.0)
        .execute(&mut *tx)
        .await?;
    let number: i64 = query_scalar(sql!(
        "SELECT coalesce(max(rerun_number), 0) + 1 FROM builds WHERE rerun_of = $1"
    ))
    .bind(original.0)
    .fetch_one(&mut *tx)
    .await?;
    let id: i64 = query_scalar(sql!(
        "INSERT INTO builds (team_id, pipeline_id, job_id, name, status, created_by, created_at,
           rerun_of, rerun_number)
         SELECT team_id, pipeline_id, job_id, name || $2, 'pending', $3, $4, id, $5
         FROM builds WHERE id = $1 RETURNING id"
    ))
    .bind(original.0)
    .bind(format!(".{number}"))
    .bind(created_by)
    .bind(now().0)
    .bind(number)
    .fetch_one(&mut *tx)
    .await?;
    let build = fetch(tx, BuildId(id)).await?;
    build.ok_or_else(|| corrupt("a build that was just made is not there"))
}

fn unfinished(row: UnfinishedRow) -> Unfinished {
    let (id, job, original, manual, created_at, aborted, inputs_ready, status) = row;
    let has_started = status == BuildStatus::Started.as_str();
    Unfinished {
        id: BuildId(id),
        job: JobId(job),
        original: BuildId(original),
        manual,
        created_at: Micros(created_at),
        aborted,
        runs: inputs_ready || has_started,
        has_started,
    }
}
