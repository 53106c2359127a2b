//! The jobs and resources of a pipeline.

use airside_model::{JobId, PipelineId, ResourceId};

use super::{Job, Pausing, Resource};
use crate::{
    Micros, Result, Store,
    db::{query, query_as, sql},
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
);
type ResourceRow = (i64, i64, String, String, String);

fn job((id, pipeline, name, paused, paused_by, paused_at, active, outline): JobRow) -> Job {
    Job {
        id: JobId(id),
        pipeline: PipelineId(pipeline),
        name,
        paused,
        paused_by,
        paused_at: paused_at.map(Micros),
        active,
        outline,
    }
}

fn resource((id, pipeline, name, type_, outline): ResourceRow) -> Resource {
    Resource {
        id: ResourceId(id),
        pipeline: PipelineId(pipeline),
        name,
        type_,
        outline,
    }
}

impl Store {
    /// A job that the pipeline's configuration has.
    pub async fn job(&self, pipeline: PipelineId, name: &str) -> Result<Option<Job>> {
        let row: Option<JobRow> = query_as(sql!(
            "SELECT id, pipeline_id, name, paused, paused_by, paused_at, active, outline FROM jobs
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
            query_as(sql!("SELECT id, pipeline_id, name, paused, paused_by, paused_at, active, outline FROM jobs WHERE id = $1"))
                .bind(id.0)
                .fetch_optional(&self.read)
                .await?;
        Ok(row.map(job))
    }

    /// The jobs that the pipeline's configuration has, in its order.
    pub async fn jobs(&self, pipeline: PipelineId) -> Result<Vec<Job>> {
        let rows: Vec<JobRow> = query_as(sql!(
            "SELECT id, pipeline_id, name, paused, paused_by, paused_at, active, outline FROM jobs
             WHERE pipeline_id = $1 AND active ORDER BY ordering"
        ))
        .bind(pipeline.0)
        .fetch_all(&self.read)
        .await?;
        Ok(rows.into_iter().map(job).collect())
    }

    pub async fn resource(&self, pipeline: PipelineId, name: &str) -> Result<Option<Resource>> {
        let row: Option<ResourceRow> = query_as(sql!(
            "SELECT id, pipeline_id, name, type, outline FROM resources
             WHERE pipeline_id = $1 AND name = $2 AND active"
        ))
        .bind(pipeline.0)
        .bind(name)
        .fetch_optional(&self.read)
        .await?;
        Ok(row.map(resource))
    }

    /// The resources that the pipeline's configuration has, by name.
    pub async fn resources(&self, pipeline: PipelineId) -> Result<Vec<Resource>> {
        let rows: Vec<ResourceRow> = query_as(sql!(
            "SELECT id, pipeline_id, name, type, outline FROM resources
             WHERE pipeline_id = $1 AND active ORDER BY name"
        ))
        .bind(pipeline.0)
        .fetch_all(&self.read)
        .await?;
        Ok(rows.into_iter().map(resource).collect())
    }

    /// Those of all pipelines, by pipeline and name.
    pub async fn all_resources(&self) -> Result<Vec<Resource>> {
        let rows: Vec<ResourceRow> = query_as(sql!(
            "SELECT id, pipeline_id, name, type, outline FROM resources
             WHERE active ORDER BY pipeline_id, name"
        ))
        .fetch_all(&self.read)
        .await?;
        Ok(rows.into_iter().map(resource).collect())
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
        self.changed();
        Ok(())
    }
}
