//! Pipelines as they were set, and the jobs and resources in them.
//!
//! A configuration may hold what people wrote into it in clear, passwords included, so it is sealed
//! like everything else that may not be read from the database. What lists show of it is kept
//! beside it, so that listing thousands opens none.

mod child;
mod contents;
mod dashboard;
mod destroy;
mod list;
mod manage;
mod named;
mod objects;
mod overview;
mod parts;
mod ranks;
mod save;
mod sources;

use airside_model::{JobId, PipelineId, ResourceId, TeamId};
use serde_json::{Map, Value};

pub use child::Parent;
pub use dashboard::{DashboardJob, DashboardOf, DashboardPipeline, JobActivity};
pub use list::PipelineSummary;
use list::columns;
pub use manage::Pausing;
pub use named::{FoundName, NameMatch, NamedKind};
pub use objects::{DeletionPolicy, PipelineClaim, PipelineHead, PipelineObject};
pub use overview::{BuildBrief, JobOverview, JobsOf};
pub use save::{SavePipeline, Saved};

use crate::{
    InstanceVars, Micros, Pin, Result, Sealer, Store,
    db::{query_as, sql},
    from_json,
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
    /// True if every user and visitor may see the pipeline.
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
    /// True if the configuration still has the job.
    pub active: bool,
    /// The outline of the job's configuration for lists, as it was given in
    /// [`airside_model::SaveJob`].
    pub outline: String,
    /// The next build would get a version that the job never used.
    pub has_new_inputs: bool,
}

/// The part of a job's row that the scheduler needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobState {
    pub id: JobId,
    pub paused: bool,
    pub inputs_determined: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    pub id: ResourceId,
    pub pipeline: PipelineId,
    pub name: String,
    pub type_: String,
    /// The outline of the resource's configuration for lists, as it was given in
    /// [`airside_model::SaveResource`].
    pub outline: String,
    pub pin: Option<Pin>,
}

/// A row with its sealed configuration; the rest is as in lists.
#[derive(sqlx::FromRow)]
struct Row {
    #[sqlx(flatten)]
    listed: list::Row,
    config: Vec<u8>,
    config_version: i64,
}

impl Row {
    fn open(self, sealer: &Sealer) -> Result<Pipeline> {
        let listed = self.listed.read()?;
        let config = open_config(sealer, listed.id.0, &self.config)?;
        Ok(Pipeline {
            id: listed.id,
            team: listed.team,
            team_name: listed.team_name,
            name: listed.name,
            instance_vars: listed.instance_vars,
            paused: listed.paused,
            paused_by: listed.paused_by,
            paused_at: listed.paused_at,
            public: listed.public,
            archived: listed.archived,
            config: from_json(&config, "pipeline config")?,
            config_version: self.config_version,
            updated_at: listed.updated_at,
        })
    }
}

/// Returns the name that the sealed bytes are bound to: this row and no other.
pub(crate) fn sealed_as(id: impl std::fmt::Display) -> String {
    format!("config of pipeline {id}")
}

/// The configuration's JSON.
fn open_config(sealer: &Sealer, id: i64, sealed: &[u8]) -> Result<String> {
    let clear = sealer.open(&sealed_as(id), sealed)?;
    String::from_utf8(clear).map_err(|_| crate::corrupt("pipeline config: not UTF-8"))
}

/// Returns the part of a configuration that lists show.
pub(crate) fn summary_of(config: &Value) -> String {
    let shown = ["groups", "display"].into_iter().filter_map(|key| {
        let value = config.get(key).filter(|value| !value.is_null())?;
        Some((key.to_owned(), value.clone()))
    });
    Value::Object(shown.collect::<Map<_, _>>()).to_string()
}

impl Store {
    /// Returns the row's columns of a pipeline without configuration: the sealed one, and that for
    /// lists.
    fn nothing_configured(&self, id: PipelineId) -> (Vec<u8>, String) {
        let empty = Value::Object(Map::new());
        let sealed = self
            .sealer
            .seal(&sealed_as(id), empty.to_string().as_bytes());
        (sealed, summary_of(&empty))
    }

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
            columns!("p.config", "p.config_version"),
            " WHERE p.team_id = $1 AND p.name = $2 AND p.instance_vars = $3"
        ))
        .bind(team.0)
        .bind(name)
        .bind(vars.to_string())
        .fetch_optional(&self.read)
        .await?;
        row.map(|row| row.open(self.sealer())).transpose()
    }

    /// The configuration as JSON, and its version.
    pub async fn pipeline_config(&self, id: PipelineId) -> Result<Option<(String, i64)>> {
        let row: Option<(Vec<u8>, i64)> = query_as(sql!(
            "SELECT config, config_version FROM pipelines WHERE id = $1 AND NOT destroyed"
        ))
        .bind(id.0)
        .fetch_optional(&self.read)
        .await?;
        let Some((sealed, version)) = row else {
            return Ok(None);
        };
        Ok(Some((open_config(self.sealer(), id.0, &sealed)?, version)))
    }

    pub async fn pipeline_by_id(&self, id: PipelineId) -> Result<Option<Pipeline>> {
        let row: Option<Row> = query_as(sql!(
            columns!("p.config", "p.config_version"),
            " WHERE p.id = $1"
        ))
        .bind(id.0)
        .fetch_optional(&self.read)
        .await?;
        row.map(|row| row.open(self.sealer())).transpose()
    }
}

#[cfg(test)]
mod tests;
