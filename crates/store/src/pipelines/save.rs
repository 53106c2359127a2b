//! Setting a pipeline: the configuration, its jobs and its resources change together or not at all.

use airside_model::{PipelineId, TeamId};
use serde_json::Value;

use super::{Pipeline, Row, columns, seal_config, summary_of};
use crate::{
    Error, InstanceVars, Result, Store, corrupt,
    db::{Tx, query, query_as, query_scalar, sql},
    now,
};

/// A configuration that has been found valid.
#[derive(Clone, Debug)]
pub struct SavePipeline {
    pub team: TeamId,
    pub name: String,
    pub instance_vars: InstanceVars,
    pub config: Value,
    pub jobs: Vec<String>,
    /// Name and type.
    pub resources: Vec<(String, String)>,
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
    /// Makes or changes a pipeline. A new one is paused; an archived one comes back.
    pub async fn save_pipeline(&self, save: SavePipeline) -> Result<Saved> {
        let mut tx = self.write.begin().await?;
        let saved = self.save_within(&mut tx, save).await?;
        tx.commit().await?;
        self.changed();
        Ok(saved)
    }

    pub(super) async fn save_within(&self, tx: &mut Tx, save: SavePipeline) -> Result<Saved> {
        // First, as whoever counts holds up everybody else who saves: what is read next stays true.
        let version = next_config_version(tx).await?;
        let existing: Option<(i64, bool)> = query_as(sql!(
            "SELECT config_version, archived FROM pipelines
             WHERE team_id = $1 AND name = $2 AND instance_vars = $3"
        ))
        .bind(save.team.0)
        .bind(&save.name)
        .bind(save.instance_vars.to_string())
        .fetch_optional(&mut *tx)
        .await?;
        if let (Some((current, false)), Some(expected)) = (existing, save.expected_version)
            && current != expected
        {
            return Err(Error::ConfigVersion {
                current: Some(current),
            });
        }
        let config = seal_config(self.sealer(), &save.config);
        let id = upsert(tx, &save, config, version).await?;
        save_jobs(tx, id, &save.jobs).await?;
        save_resources(tx, id, &save.resources).await?;
        let row: Row = query_as(sql!(columns!(), " WHERE p.id = $1"))
            .bind(id.0)
            .fetch_one(tx)
            .await?;
        let pipeline = row.open(self.sealer())?;
        Ok(Saved {
            pipeline,
            created: existing.is_none(),
        })
    }
}

/// A new pipeline comes last; a new instance comes last among those of its name.
async fn upsert(
    tx: &mut Tx,
    save: &SavePipeline,
    config: Vec<u8>,
    version: i64,
) -> Result<PipelineId> {
    let id: i64 = query_scalar(sql!(
        "INSERT INTO pipelines (team_id, name, instance_vars, ordering, instance_ordering, paused,
           public, archived, config, summary, config_version, updated_at)
         VALUES ($1, $2, $3,
           coalesce((SELECT min(ordering) FROM pipelines WHERE team_id = $1 AND name = $2),
             (SELECT max(ordering) + 1 FROM pipelines WHERE team_id = $1), 1),
           (SELECT coalesce(max(instance_ordering), 0) + 1 FROM pipelines
             WHERE team_id = $1 AND name = $2),
           TRUE, FALSE, FALSE, $4, $5, $6, $7)
         ON CONFLICT (team_id, name, instance_vars) DO UPDATE SET archived = FALSE,
           parent_job_id = NULL, parent_build_id = NULL, config = excluded.config, summary = excluded.summary,
           config_version = excluded.config_version, updated_at = excluded.updated_at
         RETURNING id"
    ))
    .bind(save.team.0)
    .bind(&save.name)
    .bind(save.instance_vars.to_string())
    .bind(config)
    .bind(summary_of(&save.config))
    .bind(version)
    .bind(now().0)
    .fetch_one(tx)
    .await?;
    Ok(PipelineId(id))
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

async fn save_jobs(tx: &mut Tx, pipeline: PipelineId, names: &[String]) -> Result<()> {
    query(sql!(
        "UPDATE jobs SET active = FALSE WHERE pipeline_id = $1"
    ))
    .bind(pipeline.0)
    .execute(&mut *tx)
    .await?;
    for (position, name) in names.iter().enumerate() {
        query(sql!(
            "INSERT INTO jobs (pipeline_id, name, active, paused, ordering, build_number)
             VALUES ($1, $2, TRUE, FALSE, $3, 0)
             ON CONFLICT (pipeline_id, name) DO UPDATE SET active = TRUE,
               ordering = excluded.ordering"
        ))
        .bind(pipeline.0)
        .bind(name)
        .bind(position as i64)
        .execute(&mut *tx)
        .await?;
    }
    Ok(())
}

async fn save_resources(
    tx: &mut Tx,
    pipeline: PipelineId,
    resources: &[(String, String)],
) -> Result<()> {
    query(sql!(
        "UPDATE resources SET active = FALSE WHERE pipeline_id = $1"
    ))
    .bind(pipeline.0)
    .execute(&mut *tx)
    .await?;
    for (name, type_) in resources {
        // Versions of one type mean nothing to another.
        query(sql!(
            "DELETE FROM resource_versions WHERE resource_id IN
               (SELECT id FROM resources WHERE pipeline_id = $1 AND name = $2 AND type <> $3)"
        ))
        .bind(pipeline.0)
        .bind(name)
        .bind(type_)
        .execute(&mut *tx)
        .await?;
        query(sql!(
            "INSERT INTO resources (pipeline_id, name, type, active) VALUES ($1, $2, $3, TRUE)
             ON CONFLICT (pipeline_id, name) DO UPDATE SET type = excluded.type, active = TRUE"
        ))
        .bind(pipeline.0)
        .bind(name)
        .bind(type_)
        .execute(&mut *tx)
        .await?;
    }
    Ok(())
}
