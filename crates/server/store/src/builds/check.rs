//! Builds that check.

use airside_model::{BuildId, BuildStatus, PipelineId, Plan, ResourceId, TeamId};

use super::{Build, fetch, plan_name};
use crate::{
    Micros, Result, ShownChange, Store, corrupt,
    db::{Tx, here, query, query_scalar, sql},
    now, to_json,
};

/// The name of every build that checks.
const NAME: &str = "check";

/// A check that is about to run.
pub struct NewCheck<'a> {
    pub team: TeamId,
    pub pipeline: PipelineId,
    /// Resource that is checked; none if a type or a prototype is.
    pub resource: Option<ResourceId>,
    pub plan: &'a Plan,
    pub reason: CheckReason<'a>,
}

/// The reason why there is a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckReason<'a> {
    /// A user asked for the check: it is listed among builds.
    Asked { by: Option<&'a str> },
    /// The resource's interval has passed.
    Due,
}

/// A check that ran without a build, of which people should see how it went.
pub struct EndedCheck<'a> {
    pub team: TeamId,
    pub pipeline: PipelineId,
    pub resource: ResourceId,
    pub plan: &'a Plan,
    pub status: BuildStatus,
    pub started_at: Micros,
    pub ended_at: Micros,
}

impl Store {
    /// Creates a build that checks. It has its plan already, and so is started.
    pub async fn create_check(&self, new: NewCheck<'_>) -> Result<Build> {
        let (created_by, listed) = match new.reason {
            CheckReason::Asked { by } => (by, true),
            CheckReason::Due => (None, false),
        };
        let mut tx = self.write.begin(here!()).await?;
        let created_at = now();
        let id: i64 = query_scalar(sql!(
            "INSERT INTO builds (team_id, pipeline_id, resource_id, name, status, created_by,
               created_at, started_at, is_check, listed)
             VALUES ($1, $2, $3, $4, 'started', $5, $6, $6, TRUE, $7) RETURNING id"
        ))
        .bind(new.team.0)
        .bind(new.pipeline.0)
        .bind(new.resource.map(|id| id.0))
        .bind(NAME)
        .bind(created_by)
        .bind(created_at.0)
        .bind(listed)
        .fetch_one(&mut tx)
        .await?;
        self.save_plan(&mut tx, BuildId(id), new.plan).await?;
        let created = fetch(&mut tx, BuildId(id)).await?;
        tx.commit().await?;
        self.show(ShownChange::CheckBegan {
            build: BuildId(id),
            pipeline: new.pipeline,
            resource: new.resource,
        });
        created.ok_or_else(|| corrupt("a build that was just made is not there"))
    }

    /// Makes a build of a check that has ended. Its log is still to be written and closed.
    pub async fn save_check(&self, ended: EndedCheck<'_>) -> Result<BuildId> {
        let mut tx = self.write.begin(here!()).await?;
        let id: i64 = query_scalar(sql!(
            "INSERT INTO builds (team_id, pipeline_id, resource_id, name, status, created_at,
               started_at, ended_at, is_check, listed)
             VALUES ($1, $2, $3, $4, $5, $6, $6, $7, TRUE, FALSE) RETURNING id"
        ))
        .bind(ended.team.0)
        .bind(ended.pipeline.0)
        .bind(ended.resource.0)
        .bind(NAME)
        .bind(ended.status.as_str())
        .bind(ended.started_at.0)
        .bind(ended.ended_at.0)
        .fetch_one(&mut tx)
        .await?;
        self.save_plan(&mut tx, BuildId(id), ended.plan).await?;
        tx.commit().await?;
        self.show(ShownChange::CheckShown {
            build: BuildId(id),
            pipeline: ended.pipeline,
            resource: Some(ended.resource),
            ok: ended.status == BuildStatus::Succeeded,
        });
        Ok(BuildId(id))
    }

    async fn save_plan(&self, tx: &mut Tx, build: BuildId, plan: &Plan) -> Result<()> {
        let sealed = self
            .sealer()
            .seal(&plan_name(build), to_json(plan).as_bytes());
        query(sql!("UPDATE builds SET plan = $1 WHERE id = $2"))
            .bind(sealed)
            .bind(build.0)
            .execute(tx)
            .await?;
        Ok(())
    }

    /// Forgets builds that checked and ended before then, but for the last of each resource and
    /// those whose container still serves others; a part of them at a time. Which ones: their logs
    /// are to be removed.
    pub async fn collect_checks(&self, before: Micros, most: i64) -> Result<Vec<BuildId>> {
        let ids: Vec<i64> = query_scalar(sql!(
            "DELETE FROM builds WHERE id IN (
               SELECT c.id FROM builds c WHERE c.is_check AND c.ended_at < $1 AND c.log_closed
                 AND NOT EXISTS (SELECT 1 FROM containers k WHERE k.build_id = c.id
                   AND k.kept_at IS NOT NULL AND k.state = 'created')
                 AND (c.resource_id IS NULL OR EXISTS (SELECT 1 FROM builds b
                   WHERE b.resource_id = c.resource_id AND b.resource_id IS NOT NULL
                     AND b.id > c.id))
               LIMIT $2)
             RETURNING id"
        ))
        .bind(before.0)
        .bind(most)
        .fetch_all(&self.write)
        .await?;
        Ok(ids.into_iter().map(BuildId).collect())
    }
}
