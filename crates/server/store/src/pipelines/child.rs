//! Pipelines that a build sets: they remember which, and a later build's word counts more.

use airside_model::{BuildId, JobId, PipelineId, ResourceId};

use super::{PipelineClaim, SavePipeline, Saved};
use crate::{
    Error, Result, Store,
    db::{Tx, here, query, query_as, sql},
};

/// The build that sets a pipeline, and its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    pub job: JobId,
    pub build: BuildId,
}

impl Store {
    /// Makes or changes a pipeline in a build's name. A new one runs at once, as does one that
    /// comes back from the archive. Refused with [`Error::SetByNewerBuild`] if a newer build was
    /// here.
    pub async fn save_child_pipeline(&self, save: SavePipeline, parent: Parent) -> Result<Saved> {
        self.save_claimed_pipeline(save, Some(parent), PipelineClaim::Server)
            .await
    }

    /// Saves within a transaction; also returns which resources begin another history.
    pub(super) async fn save_child_within(
        &self,
        tx: &mut Tx,
        save: SavePipeline,
        parent: Parent,
    ) -> Result<(Saved, Vec<ResourceId>)> {
        let existing: Option<(bool, Option<i64>)> = query_as(sql!(
            "SELECT archived, parent_build_id FROM pipelines
             WHERE team_id = $1 AND name = $2 AND instance_vars = $3"
        ))
        .bind(save.team.0)
        .bind(&save.name)
        .bind(save.instance_vars.to_string())
        .fetch_optional(&mut *tx)
        .await?;
        if let Some((_, Some(build))) = existing
            && build > parent.build.0
        {
            return Err(Error::SetByNewerBuild);
        }
        let (mut saved, anew) = self.save_within(tx, save).await?;
        set_parent(tx, saved.pipeline.id, parent).await?;
        if existing.is_none_or(|(archived, _)| archived) {
            query(sql!(
                "UPDATE pipelines SET paused = FALSE, paused_by = NULL, paused_at = NULL WHERE id = $1"
            ))
            .bind(saved.pipeline.id.0)
            .execute(tx)
            .await?;
            saved.pipeline.paused = false;
        }
        Ok((saved, anew))
    }

    /// Notes that this build would have set the pipeline, had it not been so already.
    pub async fn set_pipeline_parent(&self, pipeline: PipelineId, parent: Parent) -> Result<()> {
        let mut tx = self.write.begin(here!()).await?;
        set_parent(&mut tx, pipeline, parent).await?;
        tx.commit().await
    }

    /// Lists pipelines that a build set and no job stands for any more: the job that did is gone,
    /// its pipeline is archived, or a later build of it succeeded without setting them.
    pub async fn abandoned_pipelines(&self) -> Result<Vec<PipelineId>> {
        let rows: Vec<(i64,)> = query_as(sql!(
            "SELECT p.id FROM pipelines p LEFT JOIN jobs j ON j.id = p.parent_job_id
             LEFT JOIN pipelines o ON o.id = j.pipeline_id
             WHERE NOT p.archived AND p.parent_job_id IS NOT NULL
               AND (j.id IS NULL OR NOT j.active OR o.archived
                 OR EXISTS (SELECT 1 FROM builds b WHERE b.job_id = j.id
                   AND b.id > p.parent_build_id AND b.status = 'succeeded'))"
        ))
        .fetch_all(&self.read)
        .await?;
        Ok(rows.into_iter().map(|(id,)| PipelineId(id)).collect())
    }

    /// Returns the job and build that set the pipeline last, if a build did.
    pub async fn pipeline_parent(&self, pipeline: PipelineId) -> Result<Option<Parent>> {
        let row: Option<(Option<i64>, Option<i64>)> = query_as(sql!(
            "SELECT parent_job_id, parent_build_id FROM pipelines WHERE id = $1"
        ))
        .bind(pipeline.0)
        .fetch_optional(&self.read)
        .await?;
        Ok(row.and_then(|(job, build)| {
            Some(Parent {
                job: JobId(job?),
                build: BuildId(build?),
            })
        }))
    }
}

async fn set_parent(tx: &mut Tx, pipeline: PipelineId, parent: Parent) -> Result<()> {
    query(sql!(
        "UPDATE pipelines SET parent_job_id = $1, parent_build_id = $2
         WHERE id = $3 AND (parent_build_id IS NULL OR parent_build_id <= $2)"
    ))
    .bind(parent.job.0)
    .bind(parent.build.0)
    .bind(pipeline.0)
    .execute(tx)
    .await?;
    Ok(())
}
