//! Setting a pipeline: the configuration, its jobs and its resources change together or not at all.

use airside_model::{PipelineId, TeamId};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Pipeline, PipelineSummary, contents, list, sealed_as, summary_of};
use crate::{
    Error, InstanceVars, Result, Store, corrupt,
    db::{Tx, query, query_as, query_scalar, sql},
    now, to_json,
};

/// A configuration that has been found valid.
#[derive(Clone, Debug)]
pub struct SavePipeline {
    pub team: TeamId,
    pub name: String,
    pub instance_vars: InstanceVars,
    pub config: Value,
    pub jobs: Vec<SaveJob>,
    pub resources: Vec<SaveResource>,
    /// The version that the change was made from. If the pipeline is at another one by now, nothing
    /// is saved. A pipeline that does not exist or is archived has no version to compare with.
    pub expected_version: Option<i64>,
}

/// A job of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveJob {
    pub name: String,
    /// What lists show of it: JSON that is stored in clear.
    pub outline: String,
}

/// A resource of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveResource {
    pub name: String,
    pub type_: String,
    /// What lists show of it: JSON that is stored in clear.
    pub outline: String,
}

impl SaveJob {
    pub fn new(name: &str, outline: &impl Serialize) -> Self {
        Self {
            name: name.to_owned(),
            outline: to_json(outline),
        }
    }

    /// A job of which lists show nothing but its name.
    pub fn named(name: &str) -> Self {
        Self::new(name, &Map::<String, Value>::new())
    }
}

impl SaveResource {
    pub fn new(name: &str, type_: &str, outline: &impl Serialize) -> Self {
        Self {
            name: name.to_owned(),
            type_: type_.to_owned(),
            outline: to_json(outline),
        }
    }

    /// A resource of which lists show nothing but its name and type.
    pub fn named(name: &str, type_: &str) -> Self {
        Self::new(name, type_, &Map::<String, Value>::new())
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Saved {
    pub pipeline: Pipeline,
    pub created: bool,
}

impl Store {
    /// Makes or changes a pipeline. A new one is paused; an archived one comes back.
    pub async fn save_pipeline(&self, save: SavePipeline) -> Result<Saved> {
        let mut tx = self.write.begin().await?;
        let saved = self.save_within(&mut tx, save).await?;
        tx.commit().await?;
        self.changed();
        Ok(saved)
    }

    pub(super) async fn save_within(&self, tx: &mut Tx, save: SavePipeline) -> Result<Saved> {
        let config = save.config.to_string();
        // First, as whoever counts holds up everybody else who saves: what is read next stays true.
        let version = next_config_version(tx).await?;
        let existing = existing(tx, &save).await?;
        let id = match existing {
            Some(id) => id,
            None => insert(tx, &save).await?,
        };
        let sealed = self.sealer().seal(&sealed_as(id), config.as_bytes());
        query(sql!(
            "UPDATE pipelines SET archived = FALSE, parent_job_id = NULL, parent_build_id = NULL,
               config = $1, summary = $2, config_version = $3, updated_at = $4
             WHERE id = $5"
        ))
        .bind(sealed)
        .bind(summary_of(&save.config))
        .bind(version)
        .bind(now().0)
        .bind(id.0)
        .execute(&mut *tx)
        .await?;
        contents::save_jobs(tx, id, save.jobs).await?;
        contents::save_resources(tx, id, save.resources).await?;
        let summary = list::fetch(tx, id).await?;
        Ok(Saved {
            pipeline: with_config(summary, save.config, version),
            created: existing.is_none(),
        })
    }
}

/// The pipeline that is about to change, if it is there and at the version that is expected.
async fn existing(tx: &mut Tx, save: &SavePipeline) -> Result<Option<PipelineId>> {
    let row: Option<(i64, i64, bool)> = query_as(sql!(
        "SELECT id, config_version, archived FROM pipelines
         WHERE team_id = $1 AND name = $2 AND instance_vars = $3"
    ))
    .bind(save.team.0)
    .bind(&save.name)
    .bind(save.instance_vars.to_string())
    .fetch_optional(tx)
    .await?;
    let Some((id, current, archived)) = row else {
        return Ok(None);
    };
    match save.expected_version {
        Some(expected) if !archived && expected != current => Err(Error::ConfigVersion {
            current: Some(current),
        }),
        _ => Ok(Some(PipelineId(id))),
    }
}

/// A new pipeline comes last; a new instance comes last among those of its name. What it holds
/// follows once its id is known, which the sealed bytes are bound to.
async fn insert(tx: &mut Tx, save: &SavePipeline) -> Result<PipelineId> {
    let id: i64 = query_scalar(sql!(
        "INSERT INTO pipelines (team_id, name, instance_vars, ordering, instance_ordering, paused,
           public, archived, config, summary, config_version, updated_at)
         VALUES ($1, $2, $3,
           coalesce((SELECT min(ordering) FROM pipelines WHERE team_id = $1 AND name = $2),
             (SELECT max(ordering) + 1 FROM pipelines WHERE team_id = $1), 1),
           (SELECT coalesce(max(instance_ordering), 0) + 1 FROM pipelines
             WHERE team_id = $1 AND name = $2),
           TRUE, FALSE, FALSE, $4, '{}', 0, 0)
         RETURNING id"
    ))
    .bind(save.team.0)
    .bind(&save.name)
    .bind(save.instance_vars.to_string())
    .bind(Vec::new())
    .fetch_one(tx)
    .await?;
    Ok(PipelineId(id))
}

fn with_config(summary: PipelineSummary, config: Value, config_version: i64) -> Pipeline {
    Pipeline {
        id: summary.id,
        team: summary.team,
        team_name: summary.team_name,
        name: summary.name,
        instance_vars: summary.instance_vars,
        paused: summary.paused,
        paused_by: summary.paused_by,
        paused_at: summary.paused_at,
        public: summary.public,
        archived: summary.archived,
        config,
        config_version,
        updated_at: summary.updated_at,
    }
}

/// One counter for all pipelines, so that a pipeline destroyed and made again never has an old
/// version's number.
async fn next_config_version(tx: &mut Tx) -> Result<i64> {
    let version: String = query_scalar(sql!(
        "INSERT INTO settings (key, value) VALUES ('config_version', '1')
         ON CONFLICT (key) DO UPDATE
           SET value = CAST(CAST(settings.value AS BIGINT) + 1 AS TEXT)
         RETURNING value"
    ))
    .fetch_one(tx)
    .await?;
    version
        .parse()
        .map_err(|_| corrupt(format!("counter of configurations: {version}")))
}
