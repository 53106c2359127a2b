//! Usage of teams and their quotas.
//!
//! No sum goes over the past: volumes are summed by an index of those that are there, logs are
//! counted by triggers, and the rest is as many rows as the team has things.

mod sizes;

use std::sync::Arc;

use airside_model::{Quota, QuotaExceeded, Quotas, TeamId};

use crate::{
    Error, Result, Store,
    db::{On, query_as, query_scalar, sql},
};

/// Number of the largest users of a quota that a refusal names.
const NAMED: i64 = 3;

/// A team's usage of one quota, with its limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaUse {
    pub team: String,
    pub quota: Quota,
    pub used: u64,
    pub limit: u64,
}

impl Store {
    /// Returns this store with quotas for its teams.
    #[must_use]
    pub fn with_quotas(self, quotas: Quotas) -> Self {
        let quotas = Arc::new(quotas);
        Self { quotas, ..self }
    }

    pub fn quotas(&self) -> &Quotas {
        &self.quotas
    }

    /// Returns the reason why the team may not have this much more; none if it may.
    pub async fn over_quota(
        &self,
        team: TeamId,
        quota: Quota,
        wanted: u64,
    ) -> Result<Option<QuotaExceeded>> {
        let Some((name, limit)) = self.limit(On::Pool(&self.read), team, quota).await? else {
            return Ok(None);
        };
        let used = used(On::Pool(&self.read), team, quota).await?;
        if used.saturating_add(wanted) <= limit {
            return Ok(None);
        }
        Ok(Some(QuotaExceeded {
            team: name,
            quota,
            limit,
            used,
            wanted,
            users: self.users(team, quota).await?,
        }))
    }

    /// Refuses a change that leaves the team with more than it may have.
    pub(crate) async fn stay_within(
        &self,
        mut on: On<'_>,
        team: TeamId,
        quota: Quota,
    ) -> Result<()> {
        let Some((name, limit)) = self.limit(on.again(), team, quota).await? else {
            return Ok(());
        };
        let used = used(on, team, quota).await?;
        if used <= limit {
            return Ok(());
        }
        Err(Error::Quota(Box::new(QuotaExceeded {
            team: name,
            quota,
            limit,
            used: used - 1,
            wanted: 1,
            users: self.users(team, quota).await?,
        })))
    }

    /// Returns the rest of the team's quota, if it has one.
    pub async fn quota_room(&self, team: TeamId, quota: Quota) -> Result<Option<u64>> {
        let on = || On::Pool(&self.read);
        let Some((_, limit)) = self.limit(on(), team, quota).await? else {
            return Ok(None);
        };
        Ok(Some(limit.saturating_sub(used(on(), team, quota).await?)))
    }

    /// Returns the usage of all teams with a limit. Images in the registry are not known here.
    pub async fn quota_uses(&self) -> Result<Vec<QuotaUse>> {
        let mut uses = Vec::new();
        let limited = |quota: &Quota| self.quotas.has(*quota);
        let quotas: Vec<_> = Quota::ALL.into_iter().filter(limited).collect();
        if quotas.is_empty() {
            return Ok(uses);
        }
        let teams: Vec<(i64, String)> = query_as(sql!("SELECT id, name FROM teams ORDER BY id"))
            .fetch_all(&self.read)
            .await?;
        for (id, team) in teams {
            for quota in &quotas {
                if let Some(limit) = self.quotas.limit(&team, *quota) {
                    uses.push(QuotaUse {
                        team: team.clone(),
                        quota: *quota,
                        used: used(On::Pool(&self.read), TeamId(id), *quota).await?,
                        limit,
                    });
                }
            }
        }
        Ok(uses)
    }

    /// The team's name and limit, if it has one.
    async fn limit(&self, on: On<'_>, team: TeamId, quota: Quota) -> Result<Option<(String, u64)>> {
        if !self.quotas.has(quota) {
            return Ok(None);
        }
        let name: Option<String> = query_scalar(sql!("SELECT name FROM teams WHERE id = $1"))
            .bind(team.0)
            .fetch_optional(on)
            .await?;
        Ok(name.and_then(|name| {
            let limit = self.quotas.limit(&name, quota)?;
            Some((name, limit))
        }))
    }

    /// Returns the largest users of it.
    async fn users(&self, team: TeamId, quota: Quota) -> Result<Vec<(String, u64)>> {
        let statement = match quota {
            Quota::Volumes => sql!(
                "SELECT kind, CAST(sum(bytes) AS BIGINT) AS bytes FROM (
                   SELECT s.bytes, CASE
                     WHEN EXISTS (SELECT 1 FROM resource_caches r WHERE r.volume_id = s.volume_id)
                       THEN 'what gets fetched'
                     WHEN EXISTS (SELECT 1 FROM task_caches c WHERE c.volume_id = s.volume_id)
                       THEN 'caches of tasks'
                     WHEN EXISTS (SELECT 1 FROM volumes v WHERE v.id = s.volume_id)
                       THEN 'outputs of builds'
                     ELSE 'uploads' END AS kind
                   FROM volume_sizes s WHERE s.team_id = $1) sized
                 GROUP BY kind ORDER BY 2 DESC LIMIT $2"
            ),
            Quota::Logs => sql!(
                "SELECT coalesce(p.name || '/' || j.name || ' #' || b.name,
                   'build ' || CAST(b.id AS TEXT)), l.bytes
                 FROM build_logs l JOIN builds b ON b.id = l.build_id
                 LEFT JOIN jobs j ON j.id = b.job_id LEFT JOIN pipelines p ON p.id = b.pipeline_id
                 WHERE l.team_id = $1 ORDER BY l.bytes DESC LIMIT $2"
            ),
            Quota::Resources => sql!(
                "SELECT 'pipeline ' || p.name, count(*) FROM pipelines p
                 JOIN resources r ON r.pipeline_id = p.id AND r.active
                 WHERE p.team_id = $1 AND NOT p.destroyed
                 GROUP BY p.id, p.name ORDER BY 2 DESC, 1 LIMIT $2"
            ),
            Quota::Pipelines => sql!(
                "SELECT 'pipelines named ' || p.name, count(*) FROM pipelines p
                 WHERE p.team_id = $1 AND NOT p.destroyed
                 GROUP BY p.name ORDER BY 2 DESC, 1 LIMIT $2"
            ),
            Quota::Containers => sql!(
                "SELECT 'build ' || CAST(c.build_id AS TEXT), count(*) FROM containers c
                 JOIN builds b ON b.id = c.build_id WHERE b.team_id = $1 AND NOT c.gone
                 GROUP BY c.build_id ORDER BY 2 DESC, 1 LIMIT $2"
            ),
            Quota::Versions | Quota::Registry => return Ok(Vec::new()),
        };
        let rows: Vec<(String, i64)> = query_as(statement)
            .bind(team.0)
            .bind(NAMED)
            .fetch_all(&self.read)
            .await?;
        let amount = |(user, amount): (String, i64)| (user, u64::try_from(amount).unwrap_or(0));
        Ok(rows.into_iter().map(amount).collect())
    }
}

/// Returns the team's use of a quota. Of versions, that is the number that its largest resource
/// has.
async fn used(on: On<'_>, team: TeamId, quota: Quota) -> Result<u64> {
    let statement = match quota {
        Quota::Volumes => sql!(
            "SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM volume_sizes WHERE team_id = $1"
        ),
        Quota::Logs => sql!("SELECT bytes FROM log_usage WHERE team_id = $1"),
        Quota::Pipelines => {
            sql!("SELECT count(*) FROM pipelines WHERE team_id = $1 AND NOT destroyed")
        }
        Quota::Resources => sql!(
            "SELECT count(*) FROM pipelines p
             JOIN resources r ON r.pipeline_id = p.id AND r.active
             WHERE p.team_id = $1 AND NOT p.destroyed"
        ),
        Quota::Versions => sql!(
            "SELECT count(*) FROM pipelines p
             JOIN resources r ON r.pipeline_id = p.id AND r.active
             JOIN resource_versions v ON v.resource_id = r.id AND v.scope = r.scope
             WHERE p.team_id = $1 AND NOT p.destroyed
             GROUP BY r.id ORDER BY 1 DESC LIMIT 1"
        ),
        Quota::Containers => sql!(
            "SELECT count(*) FROM containers c JOIN builds b ON b.id = c.build_id
             WHERE b.team_id = $1 AND NOT c.gone"
        ),
        Quota::Registry => return Ok(0),
    };
    let used: Option<i64> = query_scalar(statement)
        .bind(team.0)
        .fetch_optional(on)
        .await?;
    Ok(u64::try_from(used.unwrap_or(0)).unwrap_or(0))
}

#[cfg(test)]
mod tests;
