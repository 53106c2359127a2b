//! Outcomes of the nodes of a build's plan. A node that has an outcome is never run again.

use airside_model::{BuildId, PlanId, chain};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    Lease, Micros, Result, Store, corrupt,
    db::{here, query, query_as, sql},
    from_json, now,
    patience::patiently,
    to_json,
};

/// Returns the name that the sealed bytes of a node's outcome are bound to; `row` is the build and
/// the node.
pub(crate) fn hidden_name(row: &str) -> String {
    format!("outcome of node {row}")
}

/// Returns the name that the sealed bytes of a node's beginning are bound to.
pub(crate) fn settled_name(row: &str) -> String {
    format!("beginning of node {row}")
}

fn row_name(build: BuildId, plan: &PlanId) -> String {
    format!("{build}/{plan}")
}

/// The end of a node of a build's plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeEnd<T> {
    pub plan: PlanId,
    /// The part of the outcome that the caller reads.
    pub outcome: T,
    pub started_at: Micros,
    pub ended_at: Micros,
}

/// The largest number of nodes whose ends are read at once.
const MAX_ENDS: i64 = 50_000;

impl Store {
    /// Returns the nodes of a build that have ended, in order of their ends.
    pub async fn node_ends<T: DeserializeOwned>(&self, build: BuildId) -> Result<Vec<NodeEnd<T>>> {
        let rows: Vec<(String, String, i64, i64)> = query_as(sql!(
            "SELECT plan_id, outcome, started_at, ended_at FROM build_nodes WHERE build_id = $1
             ORDER BY ended_at, plan_id LIMIT $2"
        ))
        .bind(build.0)
        .bind(MAX_ENDS)
        .fetch_all(&self.read)
        .await?;
        let ends = rows
            .into_iter()
            .map(|(plan, outcome, started_at, ended_at)| {
                Ok(NodeEnd {
                    plan: PlanId::new(plan),
                    outcome: from_json(&outcome, "node outcome")?,
                    started_at: Micros(started_at),
                    ended_at: Micros(ended_at),
                })
            });
        ends.collect()
    }

    /// Commits a node's outcome; `hidden` is the part of it that is sealed. Refused if another
    /// server drives the build.
    pub async fn save_outcome(
        &self,
        lease: &Lease,
        plan: &PlanId,
        outcome: &impl Serialize,
        hidden: Option<&impl Serialize>,
        started_at: Micros,
    ) -> Result<()> {
        let name = hidden_name(&row_name(lease.build, plan));
        let hidden = hidden.map(|hidden| self.sealer().seal(&name, to_json(hidden).as_bytes()));
        patiently!(self, Same, {
            let mut tx = self.write.begin(here!()).await?;
            lease.check(&mut tx).await?;
            query(sql!(
                "INSERT INTO build_nodes (build_id, plan_id, outcome, hidden, started_at, ended_at)
                 VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (build_id, plan_id) DO NOTHING"
            ))
            .bind(lease.build.0)
            .bind(plan.as_str())
            .bind(to_json(outcome))
            .bind(hidden.clone())
            .bind(started_at.0)
            .bind(now().0)
            .execute(&mut tx)
            .await?;
            tx.commit().await?;
            self.step_changed(lease.build);
            Ok(())
        })
    }

    /// A node's outcome and the part of it that was sealed.
    pub async fn outcome<T: DeserializeOwned, H: DeserializeOwned>(
        &self,
        build: BuildId,
        plan: &PlanId,
    ) -> Result<Option<(T, Option<H>)>> {
        let row: Option<(String, Option<Vec<u8>>)> = query_as(sql!(
            "SELECT outcome, hidden FROM build_nodes WHERE build_id = $1 AND plan_id = $2"
        ))
        .bind(build.0)
        .bind(plan.as_str())
        .fetch_optional(&self.read)
        .await?;
        let Some((text, sealed)) = row else {
            return Ok(None);
        };
        let name = hidden_name(&row_name(build, plan));
        let hidden = sealed
            .map(|sealed| self.open_json(&name, &sealed))
            .transpose()?;
        Ok(Some((from_json(&text, "node outcome")?, hidden)))
    }

    /// Notes that a node begins, and with what. If it began before, that counts: when it did, and
    /// what was settled then.
    pub async fn begin_node<S: Serialize + DeserializeOwned>(
        &self,
        lease: &Lease,
        plan: &PlanId,
        settled: Option<S>,
    ) -> Result<(Micros, Option<S>)> {
        let name = settled_name(&row_name(lease.build, plan));
        let sealed = settled
            .as_ref()
            .map(|settled| self.sealer().seal(&name, to_json(settled).as_bytes()));
        let (started_at, sealed): (i64, Option<Vec<u8>>) = patiently!(self, Same, {
            let mut tx = self.write.begin(here!()).await?;
            lease.check(&mut tx).await?;
            query(sql!(
                "INSERT INTO build_node_starts (build_id, plan_id, started_at, settled)
                 VALUES ($1, $2, $3, $4) ON CONFLICT (build_id, plan_id) DO NOTHING"
            ))
            .bind(lease.build.0)
            .bind(plan.as_str())
            .bind(now().0)
            .bind(sealed.clone())
            .execute(&mut tx)
            .await?;
            let begun = query_as(sql!(
                "SELECT started_at, settled FROM build_node_starts WHERE build_id = $1 AND plan_id = $2"
            ))
            .bind(lease.build.0)
            .bind(plan.as_str())
            .fetch_one(&mut tx)
            .await?;
            tx.commit().await?;
            self.step_changed(lease.build);
            Ok(begun)
        })?;
        let settled = sealed
            .map(|sealed| self.open_json(&name, &sealed))
            .transpose()?;
        Ok((Micros(started_at), settled))
    }

    /// Returns the values that a node settled when it began, if it has begun.
    pub async fn settled<S: DeserializeOwned>(
        &self,
        build: BuildId,
        plan: &PlanId,
    ) -> Result<Option<S>> {
        let row: Option<(Option<Vec<u8>>,)> = query_as(sql!(
            "SELECT settled FROM build_node_starts WHERE build_id = $1 AND plan_id = $2"
        ))
        .bind(build.0)
        .bind(plan.as_str())
        .fetch_optional(&self.read)
        .await?;
        let name = settled_name(&row_name(build, plan));
        row.and_then(|(sealed,)| sealed)
            .map(|sealed| self.open_json(&name, &sealed))
            .transpose()
    }

    fn open_json<T: DeserializeOwned>(&self, name: &str, sealed: &[u8]) -> Result<T> {
        let clear = self.sealer().open(name, sealed)?;
        serde_json::from_slice(&clear)
            .map_err(|error| corrupt(format!("{name}: {}", chain(&error))))
    }
}
