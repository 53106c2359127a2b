//! Jobs in lists: each with its next build and its latest finished one, in one statement, however
//! many there are and however long their history is.

use airside_model::{BuildId, BuildStatus, JobId, PipelineId, TeamId};

use super::Job;
use crate::{
    Micros, Result, Store, corrupt,
    db::{Fields, Unpack, Value, fetch_packed, packed, sql},
};

/// The team or pipeline whose jobs are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobsOf {
    Pipeline(PipelineId),
    /// One job, if its configuration still has it.
    Job(JobId),
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
            "SELECT ",
            packed!(
                num "j.id", num "j.pipeline_id", text "j.name", num "j.paused", text "j.paused_by", num "j.paused_at",
                num "j.active", text "j.outline", num "j.has_new_inputs",
                num "n.id", text "n.name", text "n.status", num "n.started_at", num "n.ended_at",
                num "f.id", text "f.name", text "f.status", num "f.started_at", num "f.ended_at";
                "j.pipeline_id, j.ordering"
            ),
            " FROM ",
            $from,
            // A job that never had a build is not looked for among builds, nor is one that has none
            // to come: most jobs.
            " LEFT JOIN builds f ON f.id = CASE WHEN j.build_number > 0 THEN (SELECT b.id FROM builds b
                 WHERE b.job_id = j.id AND b.status NOT IN ('pending', 'started')
                 ORDER BY coalesce(b.rerun_of, b.id) DESC, b.id DESC LIMIT 1) END
             LEFT JOIN builds n ON n.id = CASE
                 WHEN j.id IN (SELECT u.job_id FROM builds u WHERE u.status IN ('pending', 'started'))
                 THEN (SELECT b.id FROM builds b
                   WHERE b.job_id = j.id AND b.status IN ('pending', 'started')
                     AND (b.rerun_of IS NULL OR b.rerun_of = coalesce(f.rerun_of, f.id))
                   ORDER BY coalesce(b.rerun_of, b.id), b.id LIMIT 1) END
             WHERE j.active",
            $filter
        )
    };
}

fn brief(fields: &mut Fields<'_>) -> Result<Option<BuildBrief>> {
    let (id, name, status) = (
        fields.int_if_any()?,
        fields.text_if_any()?,
        fields.text_if_any()?,
    );
    let (started_at, ended_at) = (fields.int_if_any()?, fields.int_if_any()?);
    let (Some(id), Some(name), Some(status)) = (id, name, status) else {
        return Ok(None);
    };
    Ok(Some(BuildBrief {
        id: BuildId(id),
        name: name.to_owned(),
        status: BuildStatus::parse(status)
            .ok_or_else(|| corrupt(format!("build status {status}")))?,
        started_at: started_at.map(Micros),
        ended_at: ended_at.map(Micros),
    }))
}

impl Unpack for JobOverview {
    fn unpack(fields: &mut Fields<'_>) -> Result<Self> {
        Ok(Self {
            job: Job {
                id: JobId(fields.int()?),
                pipeline: PipelineId(fields.int()?),
                name: fields.owned()?,
                paused: fields.flag()?,
                paused_by: fields.owned_if_any()?,
                paused_at: fields.int_if_any()?.map(Micros),
                active: fields.flag()?,
                outline: fields.owned()?,
                has_new_inputs: fields.flag()?,
            },
            next: brief(fields)?,
            finished: brief(fields)?,
        })
    }
}

impl Store {
    /// The jobs that configurations have, pipeline by pipeline, in their order.
    pub async fn job_overviews(&self, of: JobsOf) -> Result<Vec<JobOverview>> {
        let (statement, id) = match of {
            JobsOf::Pipeline(id) => (overview!("jobs j", " AND j.pipeline_id = $1"), Some(id.0)),
            JobsOf::Job(id) => (overview!("jobs j", " AND j.id = $1"), Some(id.0)),
            JobsOf::Team(id) => (
                overview!(
                    "pipelines p JOIN jobs j ON j.pipeline_id = p.id",
                    " AND p.team_id = $1"
                ),
                Some(id.0),
            ),
            JobsOf::Everybody => (overview!("jobs j", ""), None),
        };
        fetch_packed(statement, id.map(Value::from), &self.read).await
    }
}
