//! Jobs in lists: each with its next build and its latest finished one, in one statement, however many
//! there are and however long their history is.

use airside_model::{BuildId, BuildStatus, JobId, PipelineId, TeamId};

use super::Job;
use crate::{
    Error, Micros, Result, Store, corrupt,
    db::{query_as, sql},
};

/// Whose jobs to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobsOf {
    Pipeline(PipelineId),
    Team(TeamId),
    Everybody,
}

/// A job and what is known of its builds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobOverview {
    pub job: Job,
    /// The oldest that has not finished.
    pub next: Option<BuildBrief>,
    /// The latest that has.
    pub finished: Option<BuildBrief>,
}

/// A build in a list of jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildBrief {
    pub id: BuildId,
    pub name: String,
    pub status: BuildStatus,
    pub started_at: Option<Micros>,
    pub ended_at: Option<Micros>,
}

macro_rules! overview {
    ($from:literal, $filter:literal) => {
        sql!(
            "SELECT j.id, j.pipeline_id, j.name, j.paused, j.paused_by, j.paused_at, j.active,
               j.outline, j.has_new_inputs,
               n.id AS next_id, n.name AS next_name, n.status AS next_status,
               n.started_at AS next_started_at, n.ended_at AS next_ended_at,
               f.id AS finished_id, f.name AS finished_name, f.status AS finished_status,
               f.started_at AS finished_started_at, f.ended_at AS finished_ended_at
             FROM ",
            $from,
            " LEFT JOIN builds f ON f.id = (SELECT b.id FROM builds b
                 WHERE b.job_id = j.id AND b.status NOT IN ('pending', 'started')
                 ORDER BY coalesce(b.rerun_of, b.id) DESC, b.id DESC LIMIT 1)
             LEFT JOIN builds n ON n.id = (SELECT b.id FROM builds b
                 WHERE b.job_id = j.id AND b.status IN ('pending', 'started')
                   AND (b.rerun_of IS NULL OR b.rerun_of = coalesce(f.rerun_of, f.id))
                 ORDER BY coalesce(b.rerun_of, b.id), b.id LIMIT 1)
             WHERE j.active",
            $filter,
            " ORDER BY j.pipeline_id, j.ordering"
        )
    };
}

#[derive(sqlx::FromRow)]
struct Row {
    id: i64,
    pipeline_id: i64,
    name: String,
    paused: bool,
    paused_by: Option<String>,
    paused_at: Option<i64>,
    active: bool,
    outline: String,
    has_new_inputs: bool,
    next_id: Option<i64>,
    next_name: Option<String>,
    next_status: Option<String>,
    next_started_at: Option<i64>,
    next_ended_at: Option<i64>,
    finished_id: Option<i64>,
    finished_name: Option<String>,
    finished_status: Option<String>,
    finished_started_at: Option<i64>,
    finished_ended_at: Option<i64>,
}

fn brief(
    id: Option<i64>,
    name: Option<String>,
    status: Option<String>,
    started_at: Option<i64>,
    ended_at: Option<i64>,
) -> Result<Option<BuildBrief>> {
    let (Some(id), Some(name), Some(status)) = (id, name, status) else {
        return Ok(None);
    };
    Ok(Some(BuildBrief {
        id: BuildId(id),
        name,
        status: BuildStatus::parse(&status)
            .ok_or_else(|| corrupt(format!("build status {status}")))?,
        started_at: started_at.map(Micros),
        ended_at: ended_at.map(Micros),
    }))
}

impl TryFrom<Row> for JobOverview {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self> {
        Ok(Self {
            job: Job {
                id: JobId(row.id),
                pipeline: PipelineId(row.pipeline_id),
                name: row.name,
                paused: row.paused,
                paused_by: row.paused_by,
                paused_at: row.paused_at.map(Micros),
                active: row.active,
                outline: row.outline,
                has_new_inputs: row.has_new_inputs,
            },
            next: brief(
                row.next_id,
                row.next_name,
                row.next_status,
                row.next_started_at,
                row.next_ended_at,
            )?,
            finished: brief(
                row.finished_id,
                row.finished_name,
                row.finished_status,
                row.finished_started_at,
                row.finished_ended_at,
            )?,
        })
    }
}

impl Store {
    /// The jobs that configurations have, pipeline by pipeline, in their order.
    pub async fn job_overviews(&self, of: JobsOf) -> Result<Vec<JobOverview>> {
        let query = match of {
            JobsOf::Pipeline(id) => {
                query_as(overview!("jobs j", " AND j.pipeline_id = $1")).bind(id.0)
            }
            JobsOf::Team(id) => query_as(overview!(
                "pipelines p JOIN jobs j ON j.pipeline_id = p.id",
                " AND p.team_id = $1"
            ))
            .bind(id.0),
            JobsOf::Everybody => query_as(overview!("jobs j", "")),
        };
        let rows: Vec<Row> = query.fetch_all(&self.read).await?;
        rows.into_iter().map(JobOverview::try_from).collect()
    }
}
