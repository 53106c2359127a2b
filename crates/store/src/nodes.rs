//! What each node of a build's plan came to. A node that has a row is never run again.

use airside_model::{BuildId, PlanId};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    Lease, Micros, Result, Store,
    db::{query, query_scalar, sql},
    from_json, now,
    patience::patiently,
    to_json,
};

impl Store {
    /// Commits a node's outcome. Refused if another server drives the build.
    pub async fn save_outcome(
        &self,
        lease: &Lease,
        plan: &PlanId,
        outcome: &impl Serialize,
        started_at: Micros,
    ) -> Result<()> {
        patiently!(self, Same, {
            let mut tx = self.write.begin().await?;
            lease.check(&mut tx).await?;
            query(sql!(
                "INSERT INTO build_nodes (build_id, plan_id, outcome, started_at, ended_at)
                 VALUES ($1, $2, $3, $4, $5) ON CONFLICT (build_id, plan_id) DO NOTHING"
            ))
            .bind(lease.build.0)
            .bind(plan.as_str())
            .bind(to_json(outcome))
            .bind(started_at.0)
            .bind(now().0)
            .execute(&mut tx)
            .await?;
            tx.commit().await?;
            Ok(())
        })
    }

    pub async fn outcome<T: DeserializeOwned>(
        &self,
        build: BuildId,
        plan: &PlanId,
    ) -> Result<Option<T>> {
        let row: Option<String> = query_scalar(sql!(
            "SELECT outcome FROM build_nodes WHERE build_id = $1 AND plan_id = $2"
        ))
        .bind(build.0)
        .bind(plan.as_str())
        .fetch_optional(&self.read)
        .await?;
        row.map(|text| from_json(&text, "node outcome")).transpose()
    }
}
