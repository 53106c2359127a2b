//! Pipelines as they were set, and the jobs and resources in them.
//!
//! A configuration may hold what people wrote into it in clear, passwords included, so it is sealed
//! like everything else that may not be read from the database. What lists show of it is kept
//! beside it, so that listing thousands opens none.

mod child;
mod list;
mod manage;
mod parts;
mod save;

use airside_model::{JobId, PipelineId, ResourceId, TeamId};
use serde_json::{Value, json};

pub use child::Parent;
pub use list::PipelineSummary;
pub use manage::Pausing;
pub use save::{SavePipeline, Saved};

use crate::{
    InstanceVars, Micros, Result, Sealer, Store, corrupt,
    db::{query_as, sql},
};

#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    pub id: PipelineId,
    pub team: TeamId,
    pub team_name: String,
    pub name: String,
    pub instance_vars: InstanceVars,
    pub paused: bool,
    pub paused_by: Option<String>,
    pub paused_at: Option<Micros>,
    /// Whether anybody may see it.
    pub public: bool,
    pub archived: bool,
    pub config: Value,
    /// Grows with every change of any configuration.
    pub config_version: i64,
    pub updated_at: Micros,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub id: JobId,
    pub pipeline: PipelineId,
    pub name: String,
    pub paused: bool,
    pub paused_by: Option<String>,
    pub paused_at: Option<Micros>,
    /// Whether the configuration still has it.
    pub active: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    pub id: ResourceId,
    pub pipeline: PipelineId,
    pub name: String,
    pub type_: String,
}

macro_rules! columns {
    () => {
        "SELECT p.id, p.team_id, t.name AS team_name, p.name, p.instance_vars, p.paused, \
         p.paused_by, p.paused_at, p.public, p.archived, p.config, p.config_version, p.updated_at \
         FROM pipelines p JOIN teams t ON t.id = p.team_id"
    };
}
use columns;

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
    config: Vec<u8>,
    config_version: i64,
    updated_at: i64,
}

impl Row {
    fn open(self, sealer: &Sealer) -> Result<Pipeline> {
        Ok(Pipeline {
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
            config: open_config(sealer, &self.config)?,
            config_version: self.config_version,
            updated_at: Micros(self.updated_at),
        })
    }
}

/// What the sealed bytes are bound to. Not the name, which may change.
pub(crate) const SEALED_AS: &str = "pipeline config";

fn seal_config(sealer: &Sealer, config: &Value) -> Vec<u8> {
    sealer.seal(SEALED_AS, config.to_string().as_bytes())
}

fn open_config(sealer: &Sealer, sealed: &[u8]) -> Result<Value> {
    let clear = sealer.open(SEALED_AS, sealed)?;
    serde_json::from_slice(&clear).map_err(|error| corrupt(format!("{SEALED_AS}: {error}")))
}

/// What lists show of a configuration.
pub(crate) fn summary_of(config: &Value) -> String {
    json!({"groups": config["groups"], "display": config["display"]}).to_string()
}

impl Store {
    /// The pipeline of this name that has no instance vars.
    pub async fn pipeline(&self, team: TeamId, name: &str) -> Result<Option<Pipeline>> {
        self.pipeline_instance(team, name, &InstanceVars::default())
            .await
    }

    pub async fn pipeline_instance(
        &self,
        team: TeamId,
        name: &str,
        vars: &InstanceVars,
    ) -> Result<Option<Pipeline>> {
        let row: Option<Row> = query_as(sql!(
            columns!(),
            " WHERE p.team_id = $1 AND p.name = $2 AND p.instance_vars = $3"
        ))
        .bind(team.0)
        .bind(name)
        .bind(vars.to_string())
        .fetch_optional(&self.read)
        .await?;
        row.map(|row| row.open(self.sealer())).transpose()
    }

    pub async fn pipeline_by_id(&self, id: PipelineId) -> Result<Option<Pipeline>> {
        let row: Option<Row> = query_as(sql!(columns!(), " WHERE p.id = $1"))
            .bind(id.0)
            .fetch_optional(&self.read)
            .await?;
        row.map(|row| row.open(self.sealer())).transpose()
    }
}

#[cfg(test)]
mod tests;
