//! The end of a pipeline, as far as users can see. Its rows may be many, and go later, a few at a
//! time (`garbage/destroyed.rs`).

use airside_model::PipelineId;

use crate::{
    News, Result, Store,
    db::{here, query, sql},
    now,
};

impl Store {
    /// Removes the pipeline: no list and no question finds it, its jobs, resources or builds any
    /// more, what runs is given up, and its name is free.
    pub async fn destroy_pipeline(&self, id: PipelineId) -> Result<()> {
        let (sealed, summary) = self.nothing_configured(id);
        let mut tx = self.write.begin(here!()).await?;
        // No user can give a pipeline such a name.
        query(sql!(
            "UPDATE pipelines SET destroyed = TRUE, archived = TRUE, paused = TRUE,
               name = '/' || CAST(id AS TEXT), config = $1, summary = $2, updated_at = $3 WHERE id = $4"
        ))
        .bind(sealed)
        .bind(summary)
        .bind(now().0)
        .bind(id.0)
        .execute(&mut tx)
        .await?;
        for statement in [
            sql!("DELETE FROM pipeline_objects WHERE pipeline_id = $1"),
            sql!("UPDATE jobs SET active = FALSE, outline = '{}' WHERE pipeline_id = $1"),
            sql!("UPDATE resources SET active = FALSE, outline = '{}' WHERE pipeline_id = $1"),
            // A server that drives one of these finds it gone and stops; containers without a build
            // are swept.
            sql!("DELETE FROM builds WHERE pipeline_id = $1 AND status IN ('pending', 'started')"),
            sql!(
                "DELETE FROM builds WHERE pipeline_id = $1 AND id IN (SELECT build_id FROM containers)"
            ),
            sql!(
                "DELETE FROM builds WHERE pipeline_id = $1 AND id IN (SELECT build_id FROM volumes)"
            ),
            // No other build finds their caches from now on.
            sql!(
                "DELETE FROM builds WHERE pipeline_id = $1 AND id IN (SELECT build_id FROM resource_cache_uses)"
            ),
        ] {
            query(statement).bind(id.0).execute(&mut tx).await?;
        }
        tx.commit().await?;
        self.announce(News::PipelineGone(id));
        Ok(())
    }
}
