//! Rows that destroyed pipelines had. Rows that go with one of these count as a part of it: a
//! build's steps, a resource's checks.

use airside_model::BuildId;

use crate::{
    Result, Store,
    db::{execute_for, here, query, query_scalar, sql},
};

/// The rows that were removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Destroyed {
    /// Builds among it; their logs are garbage now.
    pub builds: Vec<BuildId>,
    pub rows: u64,
}

impl Store {
    /// Forgets a part of what destroyed pipelines had, at last the pipelines themselves. Nothing:
    /// that was all.
    pub async fn collect_destroyed(&self, most: i64) -> Result<Destroyed> {
        let builds = self.collect_destroyed_builds(most).await?;
        if !builds.is_empty() {
            let rows = builds.len() as u64;
            return Ok(Destroyed { builds, rows });
        }
        for statement in [
            sql!(
                "DELETE FROM resource_versions WHERE id IN (
                   SELECT v.id FROM pipelines p JOIN resources r ON r.pipeline_id = p.id
                   JOIN resource_versions v ON v.resource_id = r.id WHERE p.destroyed LIMIT $1)"
            ),
            sql!(
                "DELETE FROM resources WHERE id IN (
                   SELECT r.id FROM pipelines p JOIN resources r ON r.pipeline_id = p.id
                   WHERE p.destroyed LIMIT $1)"
            ),
            sql!(
                "DELETE FROM jobs WHERE id IN (
                   SELECT j.id FROM pipelines p JOIN jobs j ON j.pipeline_id = p.id
                   WHERE p.destroyed LIMIT $1)"
            ),
            sql!(
                "DELETE FROM pipelines WHERE id IN (
                   SELECT p.id FROM pipelines p WHERE p.destroyed LIMIT $1)"
            ),
        ] {
            let rows = query(statement).bind(most).execute(&self.write).await?;
            if rows > 0 {
                let builds = Vec::new();
                return Ok(Destroyed { builds, rows });
            }
        }
        Ok(Destroyed::default())
    }

    async fn collect_destroyed_builds(&self, most: i64) -> Result<Vec<BuildId>> {
        let ids: Vec<i64> = query_scalar(sql!(
            "SELECT b.id FROM pipelines p JOIN builds b ON b.pipeline_id = p.id
             WHERE p.destroyed LIMIT $1"
        ))
        .bind(most)
        .fetch_all(&self.read)
        .await?;
        if !ids.is_empty() {
            let mut tx = self.write.begin(here!()).await?;
            execute_for(&mut tx, "DELETE FROM builds WHERE id IN", &ids).await?;
            tx.commit().await?;
        }
        Ok(ids.into_iter().map(BuildId).collect())
    }
}
