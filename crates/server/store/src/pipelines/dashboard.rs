//! Pipelines as dashboards show them: each with the statuses of its jobs, all in one statement.

use std::fmt::Write;

use airside_model::{BuildStatus, JobId, PipelineId, TeamId};

use crate::{
    InstanceVars, Micros, Result, Store, corrupt,
    db::{Fields, Sql, Unpack, Value, fetch_packed, packed, sql},
};

/// The pipelines of a dashboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DashboardOf {
    Everybody,
    /// The pipelines of these teams, and those that are exposed.
    Visible(Vec<TeamId>),
    Pipeline(PipelineId),
}

/// A pipeline and the state of its jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct DashboardPipeline {
    pub id: PipelineId,
    pub team: TeamId,
    pub team_name: String,
    pub name: String,
    pub instance_vars: InstanceVars,
    pub paused: bool,
    pub paused_by: Option<String>,
    pub paused_at: Option<Micros>,
    pub public: bool,
    pub archived: bool,
    /// A digit in base 36 for each job: how far behind others it comes. Empty if it is not known.
    pub ranks: String,
    /// Number of resources whose last check that is shown went wrong.
    pub failing_checks: u32,
    /// The jobs that the configuration has, in its order.
    pub jobs: Vec<DashboardJob>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DashboardJob {
    pub id: JobId,
    pub paused: bool,
    /// The status of the latest build that finished.
    pub latest: Option<BuildStatus>,
    /// The time since which `latest` is what it is.
    pub since: Option<Micros>,
    pub activity: JobActivity,
}

/// The state of a job's unfinished builds: that of the one that got furthest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum JobActivity {
    #[default]
    Idle,
    Pending,
    Started,
}

impl DashboardPipeline {
    /// Returns the time since which the pipeline has its status: since the first of its jobs
    /// stopped succeeding, else since the last of them changed.
    pub fn since(&self) -> Option<Micros> {
        let (mut first_unwell, mut last_change) = (None, None);
        for job in self.jobs.iter().filter(|job| !job.paused) {
            let (Some(latest), Some(since)) = (job.latest, job.since) else {
                continue;
            };
            last_change = last_change.max(Some(since));
            if latest != BuildStatus::Succeeded {
                first_unwell = Some(first_unwell.map_or(since, |first: Micros| first.min(since)));
            }
        }
        first_unwell.or(last_change)
    }
}

/// SQL that lists pipelines `p` with what belongs to them; the pieces limit what is looked at.
macro_rules! dashboard {
    ($jobs:literal, $resources:literal) => {
        concat!(
            "SELECT ",
            packed!(
                num "p.id", num "p.team_id", text "t.name", text "p.name", text "p.instance_vars", num "p.paused",
                text "p.paused_by", num "p.paused_at", num "p.public", num "p.archived", text "p.ranks",
                num "f.failing", text "g.jobs";
                "p.team_id, p.ordering, p.instance_ordering, p.id"
            ),
            " FROM pipelines p JOIN teams t ON t.id = p.team_id AND NOT p.destroyed
             LEFT JOIN (SELECT j.pipeline_id, ",
            packed!(
                num "j.id", num "j.paused", text "j.latest_status", num "j.transition_at", num "u.activity";
                "j.ordering"
            ),
            " AS jobs FROM jobs j LEFT JOIN (SELECT b.job_id,
                   max(CASE WHEN b.status = 'started' THEN 2 ELSE 1 END) AS activity FROM builds b
                 WHERE b.status IN ('pending', 'started') AND b.job_id IS NOT NULL GROUP BY b.job_id
               ) u ON u.job_id = j.id
               WHERE j.active", $jobs, " GROUP BY j.pipeline_id
             ) g ON g.pipeline_id = p.id
             LEFT JOIN (SELECT r.pipeline_id, count(*) AS failing FROM resources r
               JOIN builds c ON c.id = (SELECT max(l.id) FROM builds l WHERE l.resource_id = r.id)
               WHERE r.active AND c.status IN ('failed', 'errored')", $resources,
            " GROUP BY r.pipeline_id) f ON f.pipeline_id = p.id"
        )
    };
}

impl Unpack for DashboardJob {
    fn unpack(fields: &mut Fields<'_>) -> Result<Self> {
        Ok(Self {
            id: JobId(fields.int()?),
            paused: fields.flag()?,
            latest: fields.text_if_any()?.map(status).transpose()?,
            since: fields.int_if_any()?.map(Micros),
            activity: match fields.int_if_any()? {
                None => JobActivity::Idle,
                Some(1) => JobActivity::Pending,
                Some(_) => JobActivity::Started,
            },
        })
    }
}

fn status(text: &str) -> Result<BuildStatus> {
    BuildStatus::parse(text).ok_or_else(|| corrupt(format!("build status {text}")))
}

impl Unpack for DashboardPipeline {
    fn unpack(fields: &mut Fields<'_>) -> Result<Self> {
        Ok(Self {
            id: PipelineId(fields.int()?),
            team: TeamId(fields.int()?),
            team_name: fields.owned()?,
            name: fields.owned()?,
            instance_vars: InstanceVars::parse(fields.text()?)?,
            paused: fields.flag()?,
            paused_by: fields.owned_if_any()?,
            paused_at: fields.int_if_any()?.map(Micros),
            public: fields.flag()?,
            archived: fields.flag()?,
            ranks: fields.owned()?,
            failing_checks: u32::try_from(fields.int_if_any()?.unwrap_or(0)).unwrap_or(u32::MAX),
            jobs: Fields::list(fields.text_if_any()?.unwrap_or_default())?,
        })
    }
}

impl Store {
    /// Returns pipelines with the statuses of their jobs, in the order in which teams arranged
    /// them.
    pub async fn dashboard(&self, of: &DashboardOf) -> Result<Vec<DashboardPipeline>> {
        let (statement, values) = match of {
            DashboardOf::Everybody => (sql!(dashboard!("", "")), Vec::new()),
            DashboardOf::Pipeline(id) => (
                sql!(
                    dashboard!(" AND j.pipeline_id = $1", " AND r.pipeline_id = $1"),
                    " WHERE p.id = $1"
                ),
                vec![Value::from(id.0)],
            ),
            DashboardOf::Visible(teams) => visible(teams),
        };
        fetch_packed(statement, values, &self.read).await
    }
}

/// SQL of the pipelines that are exposed or of one of the teams.
fn visible(teams: &[TeamId]) -> (Sql, Vec<Value>) {
    let mut text = format!("{} WHERE p.public", dashboard!("", ""));
    for at in 1..=teams.len() {
        // Writing to a text does not fail.
        let _ = write!(text, " OR p.team_id = ${at}");
    }
    let values = teams.iter().map(|team| Value::from(team.0));
    (Sql::built(text), values.collect())
}

#[cfg(test)]
mod tests;
