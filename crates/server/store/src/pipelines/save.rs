//! Setting a pipeline: the configuration, its jobs and its resources change together or not at all.

use airside_model::{PipelineId, Quota, ResourceId, SaveJob, SaveResource, TeamId};
use serde_json::Value;

use super::{
    Pipeline, PipelineClaim, PipelineSummary, contents, list, open_config, ranks, sealed_as,
    sources, summary_of,
};
use crate::{
    Error, InstanceVars, News, Result, Store, corrupt,
    db::{Tx, query, query_as, query_scalar, sql},
    from_json, now,
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

#[derive(Clone, Debug, PartialEq)]
pub struct Saved {
    pub pipeline: Pipeline,
    pub created: bool,
}

impl Store {
    /// Makes or changes a pipeline. A new one is paused; an archived one comes back. Refused with
    /// [`Error::SetByObject`] if an object of a cluster sets it.
    pub async fn save_pipeline(&self, save: SavePipeline) -> Result<Saved> {
        self.save_claimed_pipeline(save, None, PipelineClaim::Server)
            .await
    }

    /// Says that a pipeline was set, and which of its resources begin another history.
    pub(super) fn announce_set(&self, saved: &Saved, anew: Vec<ResourceId>) {
        for resource in anew {
            self.announce(News::HistoryChanged(resource));
        }
        self.announce(News::PipelineSet(saved.pipeline.id));
    }

    /// Saves a pipeline within a transaction. Returns also the resources that begin another
    /// history.
    pub(super) async fn save_within(
        &self,
        tx: &mut Tx,
        save: SavePipeline,
    ) -> Result<(Saved, Vec<ResourceId>)> {
        let config = save.config.to_string();
        // First, because a server that counts holds up all others that save: the rows that are read
        // next stay true.
        let version = next_config_version(tx).await?;
        let existing = existing(tx, &save).await?;
        let id = match &existing {
            Some(existing) => existing.id,
            None => insert(tx, &save).await?,
        };
        // What was put away has no configuration to compare with, and goes on where it was.
        let before = match &existing {
            Some(existing) if !existing.archived => {
                let text = open_config(self.sealer(), id.0, &existing.config)?;
                let sources::OnlySources(before) = from_json(&text, "pipeline config")?;
                before
            }
            _ => Value::Null,
        };
        let changed = sources::changed(&before, &save.config, &save.resources);
        let sealed = self.sealer().seal(&sealed_as(id), config.as_bytes());
        query(sql!(
            "UPDATE pipelines SET archived = FALSE, parent_job_id = NULL, parent_build_id = NULL,
               config = $1, summary = $2, config_version = $3, updated_at = $4, ranks = $6
             WHERE id = $5"
        ))
        .bind(sealed)
        .bind(summary_of(&save.config))
        .bind(version)
        .bind(now().0)
        .bind(id.0)
        .bind(ranks::ranks(&save.jobs))
        .execute(&mut *tx)
        .await?;
        let (team, resources) = (save.team, save.resources.len() as i64);
        let resources_before = count_resources(tx, id).await?;
        contents::save_jobs(tx, id, save.jobs).await?;
        let anew = contents::save_resources(tx, id, save.resources, &changed).await?;
        // One that changes may have as many resources as it had.
        if existing.as_ref().is_none_or(|existing| existing.archived) {
            self.stay_within((&mut *tx).into(), team, Quota::Pipelines)
                .await?;
        }
        if resources > resources_before {
            self.stay_within((&mut *tx).into(), team, Quota::Resources)
                .await?;
        }
        let summary = list::fetch(tx, id).await?;
        let saved = Saved {
            pipeline: with_config(summary, save.config, version),
            created: existing.is_none(),
        };
        Ok((saved, anew))
    }
}

/// The pipeline as it was.
struct Existing {
    id: PipelineId,
    archived: bool,
    /// Sealed.
    config: Vec<u8>,
}

/// The pipeline that is about to change, if it is there and at the version that is expected.
async fn existing(tx: &mut Tx, save: &SavePipeline) -> Result<Option<Existing>> {
    let row: Option<(i64, i64, bool, Vec<u8>)> = query_as(sql!(
        "SELECT id, config_version, archived, config FROM pipelines
         WHERE team_id = $1 AND name = $2 AND instance_vars = $3"
    ))
    .bind(save.team.0)
    .bind(&save.name)
    .bind(save.instance_vars.to_string())
    .fetch_optional(tx)
    .await?;
    let Some((id, current, archived, config)) = row else {
        return Ok(None);
    };
    match save.expected_version {
        Some(expected) if !archived && expected != current => Err(Error::ConfigVersion {
            current: Some(current),
        }),
        _ => Ok(Some(Existing {
            id: PipelineId(id),
            archived,
            config,
        })),
    }
}

async fn count_resources(tx: &mut Tx, pipeline: PipelineId) -> Result<i64> {
    query_scalar(sql!(
        "SELECT count(*) FROM resources WHERE pipeline_id = $1 AND active"
    ))
    .bind(pipeline.0)
    .fetch_one(tx)
    .await
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
