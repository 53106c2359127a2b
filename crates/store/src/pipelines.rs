//! Pipelines as they were set, and the jobs and resources in them.
//!
//! A configuration may hold what people wrote into it in clear, passwords included, so it is sealed
//! like everything else that may not be read from the file of the database.

mod parts;
mod save;

use airside_model::{JobId, PipelineId, ResourceId, TeamId};
use serde_json::Value;

pub use save::{SavePipeline, Saved};

use crate::{Micros, Result, Sealer, Store, corrupt};

#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    pub id: PipelineId,
    pub team: TeamId,
    pub team_name: String,
    pub name: String,
    pub paused: bool,
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

const COLUMNS: &str = "SELECT p.id, p.team_id, t.name AS team_name, p.name, p.paused, p.public, \
    p.archived, p.config, p.config_version, p.updated_at FROM pipelines p \
    JOIN teams t ON t.id = p.team_id";

#[derive(sqlx::FromRow)]
struct Row {
    id: i64,
    team_id: i64,
    team_name: String,
    name: String,
    paused: bool,
    public: bool,
    archived: bool,
    config: String,
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
            paused: self.paused,
            public: self.public,
            archived: self.archived,
            config: open_config(sealer, &self.config)?,
            config_version: self.config_version,
            updated_at: Micros(self.updated_at),
        })
    }
}

/// What the sealed bytes are bound to. Not the name, which may change.
const SEALED_AS: &str = "pipeline config";

fn seal_config(sealer: &Sealer, config: &Value) -> String {
    hex::encode(sealer.seal(SEALED_AS, config.to_string().as_bytes()))
}

fn open_config(sealer: &Sealer, sealed: &str) -> Result<Value> {
    let sealed = hex::decode(sealed).map_err(|error| corrupt(format!("{SEALED_AS}: {error}")))?;
    let clear = sealer.open(SEALED_AS, &sealed)?;
    serde_json::from_slice(&clear).map_err(|error| corrupt(format!("{SEALED_AS}: {error}")))
}

impl Store {
    pub async fn pipeline(&self, team: TeamId, name: &str) -> Result<Option<Pipeline>> {
        let sql = format!("{COLUMNS} WHERE p.team_id = $1 AND p.name = $2");
        let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(team.0)
            .bind(name)
            .fetch_optional(&self.read)
            .await?;
        row.map(|row| row.open(self.sealer())).transpose()
    }

    pub async fn pipeline_by_id(&self, id: PipelineId) -> Result<Option<Pipeline>> {
        let sql = format!("{COLUMNS} WHERE p.id = $1");
        let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(id.0)
            .fetch_optional(&self.read)
            .await?;
        row.map(|row| row.open(self.sealer())).transpose()
    }

    /// Those of one team, or of all, in the order in which the team arranged them.
    pub async fn pipelines(&self, team: Option<TeamId>) -> Result<Vec<Pipeline>> {
        let sql = format!(
            "{COLUMNS} WHERE ($1 IS NULL OR p.team_id = $1) ORDER BY p.team_id, p.ordering, p.id"
        );
        let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(team.map(|team| team.0))
            .fetch_all(&self.read)
            .await?;
        rows.into_iter()
            .map(|row| row.open(self.sealer()))
            .collect()
    }

    pub async fn set_pipeline_paused(&self, id: PipelineId, paused: bool) -> Result<()> {
        sqlx::query("UPDATE pipelines SET paused = $1 WHERE id = $2")
            .bind(paused)
            .bind(id.0)
            .execute(&self.write)
            .await?;
        self.changed();
        Ok(())
    }

    /// Shows the pipeline to everybody, or to its team alone.
    pub async fn set_pipeline_public(&self, id: PipelineId, public: bool) -> Result<()> {
        sqlx::query("UPDATE pipelines SET public = $1 WHERE id = $2")
            .bind(public)
            .bind(id.0)
            .execute(&self.write)
            .await?;
        self.changed();
        Ok(())
    }

    /// Removes the pipeline with its jobs, resources and builds.
    pub async fn destroy_pipeline(&self, id: PipelineId) -> Result<()> {
        sqlx::query("DELETE FROM pipelines WHERE id = $1")
            .bind(id.0)
            .execute(&self.write)
            .await?;
        self.changed();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
