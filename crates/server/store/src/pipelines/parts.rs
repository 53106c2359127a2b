//! The jobs and resources of a pipeline.

use airside_model::{JobId, PipelineId, ResourceId};

use super::{Job, JobState, Pausing, Resource};
use crate::{
    Micros, News, Pin, Result, Store,
    db::{fetch_for, query, query_as, sql},
    from_json,
};

type JobRow = (
    i64,
    i64,
    String,
    bool,
    Option<String>,
    Option<i64>,
    bool,
    String,
    bool,
);

#[derive(sqlx::FromRow)]
struct ResourceRow {
    id: i64,
    pipeline_id: i64,
    name: String,
    r#type: String,
    outline: String,
    pin: Option<String>,
    pin_in_config: bool,
    pin_comment: String,
}

macro_rules! resource_columns {
    () => {
        "SELECT id, pipeline_id, name, type, outline, pin, pin_in_config, pin_comment FROM resources"
    };
}

fn job(row: JobRow) -> Job {
    let (id, pipeline, name, paused, paused_by, paused_at, active, outline, has_new_inputs) = row;
    Job {
        id: JobId(id),
        pipeline: PipelineId(pipeline),
        name,
        paused,
        paused_by,
        paused_at: paused_at.map(Micros),
        active,
        outline,
        has_new_inputs,
    }
}

fn resource(row: ResourceRow) -> Result<Resource> {
    let pin = match row.pin {
        None => None,
        Some(version) => Some(Pin {
            version: from_json(&version, "version")?,
            in_config: row.pin_in_config,
            comment: row.pin_comment,
        }),
    };
    Ok(Resource {
        id: ResourceId(row.id),
        pipeline: PipelineId(row.pipeline_id),
        name: row.name,
        type_: row.r#type,
        outline: row.outline,
        pin,
    })
}

impl Store {
    /// A job that the pipeline's configuration has.
    pub async fn job(&self, pipeline: PipelineId, name: &str) -> Result<Option<Job>> {
        let row: Option<JobRow> = query_as(sql!(
            "SELECT id, pipeline_id, name, paused, paused_by, paused_at, active, outline, has_new_inputs FROM jobs
             WHERE pipeline_id = $1 AND name = $2 AND active"
        ))
        .bind(pipeline.0)
        .bind(name)
        .fetch_optional(&self.read)
        .await?;
        Ok(row.map(job))
    }

    /// A job by its id, whether or not the configuration still has it.
    pub async fn job_by_id(&self, id: JobId) -> Result<Option<Job>> {
        let row: Option<JobRow> =
            query_as(sql!("SELECT id, pipeline_id, name, paused, paused_by, paused_at, active, outline, has_new_inputs FROM jobs WHERE id = $1"))
                .bind(id.0)
                .fetch_optional(&self.read)
                .await?;
        Ok(row.map(job))
    }

    /// The jobs that the pipeline's configuration has, in its order.
    pub async fn jobs(&self, pipeline: PipelineId) -> Result<Vec<Job>> {
        let rows: Vec<JobRow> = query_as(sql!(
            "SELECT id, pipeline_id, name, paused, paused_by, paused_at, active, outline, has_new_inputs FROM jobs
             WHERE pipeline_id = $1 AND active ORDER BY ordering"
        ))
        .bind(pipeline.0)
        .fetch_all(&self.read)
        .await?;
        Ok(rows.into_iter().map(job).collect())
    }

    pub async fn resource(&self, pipeline: PipelineId, name: &str) -> Result<Option<Resource>> {
        let row: Option<ResourceRow> = query_as(sql!(
            resource_columns!(),
            " WHERE pipeline_id = $1 AND name = $2 AND active"
        ))
        .bind(pipeline.0)
        .bind(name)
        .fetch_optional(&self.read)
        .await?;
        row.map(resource).transpose()
    }

    /// The resources that the pipeline's configuration has, by name.
    pub async fn resources(&self, pipeline: PipelineId) -> Result<Vec<Resource>> {
        let rows: Vec<ResourceRow> = query_as(sql!(
            resource_columns!(),
            " WHERE pipeline_id = $1 AND active ORDER BY name"
        ))
        .bind(pipeline.0)
        .fetch_all(&self.read)
        .await?;
        rows.into_iter().map(resource).collect()
    }

    /// Lists the resources of all pipelines, by pipeline and name.
    pub async fn all_resources(&self) -> Result<Vec<Resource>> {
        let rows: Vec<ResourceRow> = query_as(sql!(
            resource_columns!(),
            " WHERE active ORDER BY pipeline_id, name"
        ))
        .fetch_all(&self.read)
        .await?;
        rows.into_iter().map(resource).collect()
    }

    pub async fn set_job_paused(&self, id: JobId, pausing: Pausing<'_>) -> Result<()> {
        let (paused, by, at) = pausing.columns();
        query(sql!(
            "UPDATE jobs SET paused = $1, paused_by = $2, paused_at = $3 WHERE id = $4"
        ))
        .bind(paused)
        .bind(by)
        .bind(at)
        .bind(id.0)
        .execute(&self.write)
        .await?;
        self.announce(match pausing {
            Pausing::Pause { .. } => News::JobPaused(id),
            Pausing::Resume => News::JobUnpaused(id),
        });
        Ok(())
    }

    /// Finds for each of these jobs of a pipeline if it is paused, and if its next build has all
    /// inputs.
    pub async fn job_states(&self, pipeline: PipelineId, jobs: &[JobId]) -> Result<Vec<JobState>> {
        let ids = jobs.iter().map(|job| job.0.into()).collect();
        let head = "SELECT id, paused, inputs_determined FROM jobs
            WHERE pipeline_id = $1 AND active AND id IN";
        let rows: Vec<(i64, bool, bool)> =
            fetch_for(&self.read, head, pipeline.0.into(), ids).await?;
        let states = rows
            .into_iter()
            .map(|(id, paused, inputs_determined)| JobState {
                id: JobId(id),
                paused,
                inputs_determined,
            });
        Ok(states.collect())
    }

    /// A resource by its id, whether or not the configuration still has it.
    pub async fn resource_by_id(&self, id: ResourceId) -> Result<Option<Resource>> {
        let row: Option<ResourceRow> = query_as(sql!(resource_columns!(), " WHERE id = $1"))
            .bind(id.0)
            .fetch_optional(&self.read)
            .await?;
        row.map(resource).transpose()
    }
}
