//! Summaries of checks, for lists.

use airside_model::{BuildId, BuildStatus, PipelineId, ResourceId};

use crate::{
    Micros, Result, Store, corrupt,
    db::{query_as, sql},
};

/// The resources whose checks are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecksOf {
    Resource(ResourceId),
    Pipeline(PipelineId),
    Everybody,
}

/// The latest results of the checks of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckSummary {
    pub started_at: Option<Micros>,
    /// The end of the last one.
    pub ended_at: Option<Micros>,
    /// The latest of those that are builds, finished or not. Where there is none, all went well.
    pub build: Option<CheckBuild>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckBuild {
    pub id: BuildId,
    pub status: BuildStatus,
    pub started_at: Option<Micros>,
    pub ended_at: Option<Micros>,
}

macro_rules! summaries {
    ($filter:literal) => {
        sql!(
            "SELECT r.id, c.started_at, c.ended_at, b.id AS build, b.status,
               b.started_at AS build_started_at, b.ended_at AS build_ended_at
             FROM resources r
             LEFT JOIN resource_checks c ON c.resource_id = r.id AND c.scope = r.scope
             LEFT JOIN builds b ON b.id = (SELECT max(id) FROM builds WHERE resource_id = r.id)
             WHERE r.active AND (c.resource_id IS NOT NULL OR b.id IS NOT NULL)",
            $filter
        )
    };
}

#[derive(sqlx::FromRow)]
struct Row {
    id: i64,
    started_at: Option<i64>,
    ended_at: Option<i64>,
    build: Option<i64>,
    status: Option<String>,
    build_started_at: Option<i64>,
    build_ended_at: Option<i64>,
}

impl Row {
    fn read(self) -> Result<(ResourceId, CheckSummary)> {
        let build = match (self.build, self.status) {
            (Some(id), Some(status)) => Some(CheckBuild {
                id: BuildId(id),
                status: BuildStatus::parse(&status)
                    .ok_or_else(|| corrupt(format!("build status {status}")))?,
                started_at: self.build_started_at.map(Micros),
                ended_at: self.build_ended_at.map(Micros),
            }),
            _ => None,
        };
        let summary = CheckSummary {
            started_at: self.started_at.map(Micros),
            ended_at: self.ended_at.map(Micros),
            build,
        };
        Ok((ResourceId(self.id), summary))
    }
}

impl Store {
    /// Returns the results of checks; resources that were never checked are left out.
    pub async fn check_summaries(&self, of: ChecksOf) -> Result<Vec<(ResourceId, CheckSummary)>> {
        let query = match of {
            ChecksOf::Resource(id) => query_as(summaries!(" AND r.id = $1")).bind(id.0),
            ChecksOf::Pipeline(id) => query_as(summaries!(" AND r.pipeline_id = $1")).bind(id.0),
            ChecksOf::Everybody => query_as(summaries!("")),
        };
        let rows: Vec<Row> = query.fetch_all(&self.read).await?;
        rows.into_iter().map(Row::read).collect()
    }
}
