//! Pipelines in lists: all that is shown of them, without opening a single configuration.

use airside_model::{PipelineId, TeamId};
use serde_json::Value;

use super::{Pipeline, summary_of};
use crate::{
    InstanceVars, Micros, Result, Store,
    db::{query_as, sql},
    from_json,
};

#[derive(Clone, Debug, PartialEq)]
pub struct PipelineSummary {
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
    /// As configured, or null.
    pub groups: Value,
    /// As configured, or null.
    pub display: Value,
    pub updated_at: Micros,
}

macro_rules! columns {
    () => {
        "SELECT p.id, p.team_id, t.name AS team_name, p.name, p.instance_vars, p.paused, \
         p.paused_by, p.paused_at, p.public, p.archived, p.summary, p.updated_at \
         FROM pipelines p JOIN teams t ON t.id = p.team_id"
    };
}

macro_rules! order {
    () => {
        " ORDER BY p.team_id, p.ordering, p.instance_ordering, p.id"
    };
}

#[derive(sqlx::FromRow)]
struct Row {
    id: i64,
    team_id: i64,
    team_name: String,
    name: String,
    instance_vars: String,
    paused: bool,
    paused_by: Option<String>,
    paused_at: Option<i64>,
    public: bool,
    archived: bool,
    summary: String,
    updated_at: i64,
}

impl Row {
    fn read(self) -> Result<PipelineSummary> {
        let mut shown: Value = from_json(&self.summary, "pipeline summary")?;
        Ok(PipelineSummary {
            id: PipelineId(self.id),
            team: TeamId(self.team_id),
            team_name: self.team_name,
            name: self.name,
            instance_vars: InstanceVars::parse(&self.instance_vars)?,
            paused: self.paused,
            paused_by: self.paused_by,
            paused_at: self.paused_at.map(Micros),
            public: self.public,
            archived: self.archived,
            groups: shown["groups"].take(),
            display: shown["display"].take(),
            updated_at: Micros(self.updated_at),
        })
    }
}

impl From<&Pipeline> for PipelineSummary {
    fn from(pipeline: &Pipeline) -> Self {
        let shown: Value = from_json(&summary_of(&pipeline.config), "").unwrap_or_default();
        Self {
            id: pipeline.id,
            team: pipeline.team,
            team_name: pipeline.team_name.clone(),
            name: pipeline.name.clone(),
            instance_vars: pipeline.instance_vars.clone(),
            paused: pipeline.paused,
            paused_by: pipeline.paused_by.clone(),
            paused_at: pipeline.paused_at,
            public: pipeline.public,
            archived: pipeline.archived,
            groups: shown["groups"].clone(),
            display: shown["display"].clone(),
            updated_at: pipeline.updated_at,
        }
    }
}

impl Store {
    /// Those of one team, or of all, in the order in which the team arranged them.
    pub async fn pipelines(&self, team: Option<TeamId>) -> Result<Vec<PipelineSummary>> {
        let rows: Vec<Row> = match team {
            Some(team) => {
                query_as(sql!(columns!(), " WHERE p.team_id = $1", order!()))
                    .bind(team.0)
                    .fetch_all(&self.read)
                    .await?
            }
            None => {
                query_as(sql!(columns!(), order!()))
                    .fetch_all(&self.read)
                    .await?
            }
        };
        rows.into_iter().map(Row::read).collect()
    }
}
