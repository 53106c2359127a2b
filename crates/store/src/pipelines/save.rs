//! Setting a pipeline: the configuration, its jobs and its resources change together or not at all.

use airside_model::{PipelineId, TeamId};
use serde_json::Value;
use sqlx::SqliteConnection;

use super::{COLUMNS, Pipeline, Row, seal_config};
use crate::{Error, Result, Store, corrupt, now};

/// A configuration that has been found valid.
#[derive(Clone, Debug)]
pub struct SavePipeline {
    pub team: TeamId,
    pub name: String,
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
        let existing: Option<(i64, bool)> = sqlx::query_as(
            "SELECT config_version, archived FROM pipelines WHERE team_id = $1 AND name = $2",
        )
        .bind(save.team.0)
        .bind(&save.name)
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
        let id = upsert(&mut tx, &save, &config).await?;
        save_jobs(&mut tx, id, &save.jobs).await?;
        save_resources(&mut tx, id, &save.resources).await?;
        let sql = format!("{COLUMNS} WHERE p.id = $1");
        let row: Row = sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(id.0)
            .fetch_one(&mut *tx)
            .await?;
        let pipeline = row.open(self.sealer())?;
        tx.commit().await?;
        self.changed();
        Ok(Saved {
            pipeline,
            created: existing.is_none(),
        })
    }
}

async fn upsert(
    connection: &mut SqliteConnection,
    save: &SavePipeline,
    config: &str,
) -> Result<PipelineId> {
    let version = next_config_version(connection).await?;
    let id: i64 = sqlx::query_scalar(
        "INSERT INTO pipelines (team_id, name, ordering, paused, public, archived, config,
           config_version, updated_at)
         VALUES ($1, $2,
           (SELECT coalesce(max(ordering), 0) + 1 FROM pipelines WHERE team_id = $1),
           TRUE, FALSE, FALSE, $3, $4, $5)
         ON CONFLICT (team_id, name) DO UPDATE SET archived = FALSE, config = excluded.config,
           config_version = excluded.config_version, updated_at = excluded.updated_at
         RETURNING id",
    )
    .bind(save.team.0)
    .bind(&save.name)
    .bind(config)
    .bind(version)
    .bind(now().0)
    .fetch_one(connection)
    .await?;
    Ok(PipelineId(id))
}

/// One counter for all pipelines, so that a pipeline destroyed and made again never has an old
/// version's number.
async fn next_config_version(connection: &mut SqliteConnection) -> Result<i64> {
    let version: String = sqlx::query_scalar(
        "INSERT INTO settings (key, value) VALUES ('config_version', '1')
         ON CONFLICT (key) DO UPDATE
           SET value = CAST(CAST(settings.value AS BIGINT) + 1 AS TEXT)
         RETURNING value",
    )
    .fetch_one(connection)
    .await?;
    version
        .parse()
        .map_err(|_| corrupt(format!("counter of configurations: {version}")))
}

async fn save_jobs(
    connection: &mut SqliteConnection,
    pipeline: PipelineId,
    names: &[String],
) -> Result<()> {
    sqlx::query("UPDATE jobs SET active = FALSE WHERE pipeline_id = $1")
        .bind(pipeline.0)
        .execute(&mut *connection)
        .await?;
    for (position, name) in names.iter().enumerate() {
        sqlx::query(
            "INSERT INTO jobs (pipeline_id, name, active, paused, ordering, build_number)
             VALUES ($1, $2, TRUE, FALSE, $3, 0)
             ON CONFLICT (pipeline_id, name) DO UPDATE SET active = TRUE,
               ordering = excluded.ordering",
        )
        .bind(pipeline.0)
        .bind(name)
        .bind(position as i64)
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

async fn save_resources(
    connection: &mut SqliteConnection,
    pipeline: PipelineId,
    resources: &[(String, String)],
) -> Result<()> {
    sqlx::query("UPDATE resources SET active = FALSE WHERE pipeline_id = $1")
        .bind(pipeline.0)
        .execute(&mut *connection)
        .await?;
    for (name, type_) in resources {
        // Versions of one type mean nothing to another.
        sqlx::query(
            "DELETE FROM resource_versions WHERE resource_id IN
               (SELECT id FROM resources WHERE pipeline_id = $1 AND name = $2 AND type <> $3)",
        )
        .bind(pipeline.0)
        .bind(name)
        .bind(type_)
        .execute(&mut *connection)
        .await?;
        sqlx::query(
            "INSERT INTO resources (pipeline_id, name, type, active) VALUES ($1, $2, $3, TRUE)
             ON CONFLICT (pipeline_id, name) DO UPDATE SET type = excluded.type, active = TRUE",
        )
        .bind(pipeline.0)
        .bind(name)
        .bind(type_)
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}
