//! The last check of each resource: its time and its result.
//!
//! The versions that checks found are in `versions`; the builds that people see are in `builds`.

mod summary;
#[cfg(test)]
mod tests;

use airside_model::{BuildStatus, PipelineId, ResourceId, TeamId, Version};

use crate::{
    CheckFrom, Error, Micros, News, Result, ShownChange, Store, VersionScope,
    db::{Tx, Value, here, insert, query, query_as, query_scalar, sql},
    from_json, to_json,
};

pub use summary::{CheckBuild, CheckSummary, ChecksOf};

/// The end of a check of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastCheck {
    /// The history of the resource that the check was for.
    pub scope: VersionScope,
    pub started_at: Micros,
    pub ended_at: Micros,
    /// Number of checks that failed since the last that succeeded.
    pub failures: u32,
}

/// A resource that configurations have, as far as its checks go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkable {
    pub id: ResourceId,
    pub name: String,
    /// The version that the resource is pinned to, by a user or by the configuration.
    pub pin: Option<Version>,
    /// The last check of the resource's present history.
    pub last: Option<LastCheck>,
    pub has_versions: bool,
    /// True if a version that fits the pin is among them, for callers that need it.
    pub has_pinned_version: bool,
    /// The status of the latest build that checked the resource, once it has ended.
    pub shown: Option<BuildStatus>,
}

/// The last check for an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageCheck {
    /// The newest that was found.
    pub version: Option<Version>,
    pub started_at: Micros,
    pub ended_at: Micros,
    pub succeeded: bool,
}

macro_rules! checkable {
    () => {
        "SELECT r.id, r.name, r.pin, r.scope, c.started_at, c.ended_at, c.failures,
           EXISTS (SELECT 1 FROM resource_versions v
             WHERE v.resource_id = r.id AND v.scope = r.scope) AS has_versions,
           (SELECT b.status FROM builds b WHERE b.resource_id = r.id AND b.ended_at IS NOT NULL
             ORDER BY b.id DESC LIMIT 1) AS shown
         FROM resources r
         LEFT JOIN resource_checks c ON c.resource_id = r.id AND c.scope = r.scope "
    };
}

#[derive(sqlx::FromRow)]
struct Row {
    id: i64,
    name: String,
    pin: Option<String>,
    scope: i64,
    started_at: Option<i64>,
    ended_at: Option<i64>,
    failures: Option<i64>,
    has_versions: bool,
    shown: Option<String>,
}

impl TryFrom<Row> for Checkable {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self> {
        let last = match (row.started_at, row.ended_at) {
            (Some(started_at), Some(ended_at)) => Some(LastCheck {
                scope: VersionScope(row.scope),
                started_at: Micros(started_at),
                ended_at: Micros(ended_at),
                failures: u32::try_from(row.failures.unwrap_or(0)).unwrap_or(u32::MAX),
            }),
            _ => None,
        };
        Ok(Self {
            id: ResourceId(row.id),
            name: row.name,
            pin: row.pin.map(|pin| from_json(&pin, "pin")).transpose()?,
            last,
            has_versions: row.has_versions,
            has_pinned_version: false,
            shown: row.shown.as_deref().and_then(BuildStatus::parse),
        })
    }
}

impl Store {
    /// The pipelines whose resources may be checked.
    pub async fn pipelines_to_check(&self) -> Result<Vec<PipelineId>> {
        let ids: Vec<i64> = query_scalar(sql!(
            "SELECT id FROM pipelines WHERE NOT archived AND NOT paused"
        ))
        .fetch_all(&self.read)
        .await?;
        Ok(ids.into_iter().map(PipelineId).collect())
    }

    /// The resources of a pipeline's configuration.
    pub async fn checkables(&self, pipeline: PipelineId) -> Result<Vec<Checkable>> {
        let rows: Vec<Row> = query_as(sql!(
            checkable!(),
            "WHERE r.pipeline_id = $1 AND r.active ORDER BY r.id"
        ))
        .bind(pipeline.0)
        .fetch_all(&self.read)
        .await?;
        rows.into_iter().map(Checkable::try_from).collect()
    }

    /// One resource, if a configuration has it.
    pub async fn checkable(&self, resource: ResourceId) -> Result<Option<Checkable>> {
        let row: Option<Row> = query_as(sql!(checkable!(), "WHERE r.id = $1 AND r.active"))
            .bind(resource.0)
            .fetch_optional(&self.read)
            .await?;
        row.map(Checkable::try_from).transpose()
    }

    /// The last check of a resource as it is now.
    pub async fn last_check(&self, resource: ResourceId) -> Result<Option<LastCheck>> {
        let row: Option<(i64, i64, i64, i64)> = query_as(sql!(
            "SELECT c.scope, c.started_at, c.ended_at, c.failures FROM resource_checks c
             JOIN resources r ON r.id = c.resource_id AND r.scope = c.scope
             WHERE c.resource_id = $1"
        ))
        .bind(resource.0)
        .fetch_optional(&self.read)
        .await?;
        Ok(
            row.map(|(scope, started_at, ended_at, failures)| LastCheck {
                scope: VersionScope(scope),
                started_at: Micros(started_at),
                ended_at: Micros(ended_at),
                failures: u32::try_from(failures).unwrap_or(u32::MAX),
            }),
        )
    }

    /// Returns the version from which to check a resource in this image of its type. Another image
    /// than last time may see other versions, so it begins another history. `None` if there is no
    /// such resource.
    pub async fn check_from_image(
        &self,
        resource: ResourceId,
        image: &Version,
    ) -> Result<Option<CheckFrom>> {
        let _turn = self.turn.lock().await;
        let changed = query(sql!(
            "UPDATE resources SET scope = CASE WHEN type_image IS NULL THEN scope ELSE scope + 1 END,
               type_image = $2
             WHERE id = $1 AND (type_image IS NULL OR type_image <> $2)"
        ))
        .bind(resource.0)
        .bind(image.canonical())
        .execute(&self.write)
        .await?;
        if changed > 0 {
            self.announce(News::HistoryChanged(resource));
        }
        self.check_from(resource).await
    }

    /// Records the end of a check that a caller may wait for, and announces it. `next_due` is when
    /// its interval has passed, if it has one.
    pub async fn note_check(
        &self,
        resource: ResourceId,
        check: LastCheck,
        next_due: Option<Micros>,
    ) -> Result<()> {
        self.note_checks(&[(resource, check)]).await?;
        self.check_ended(resource, next_due);
        Ok(())
    }

    /// Notes the ends of checks, all at once. Those of resources that are gone are passed over.
    pub async fn note_checks(&self, checks: &[(ResourceId, LastCheck)]) -> Result<()> {
        if checks.is_empty() {
            return Ok(());
        }
        let mut tx = self.write.begin(here!()).await?;
        note(&mut tx, checks).await?;
        tx.commit().await?;
        for (resource, check) in checks {
            self.show_quietly(ShownChange::CheckEnded {
                resource: *resource,
                ok: check.failures == 0,
            });
        }
        Ok(())
    }

    /// The name under which the check of an image is kept. It tells nothing of `identity`, which
    /// may hold a password that could be guessed and tried against a plain digest.
    pub fn image_check_key(&self, identity: &str) -> String {
        self.sealer()
            .fingerprint("image check", identity.as_bytes())
    }

    /// The last check for the image that this digest stands for.
    pub async fn image_check(&self, team: TeamId, digest: &str) -> Result<Option<ImageCheck>> {
        let row: Option<(Option<String>, i64, i64, bool)> = query_as(sql!(
            "SELECT version, started_at, ended_at, succeeded FROM image_checks
             WHERE team_id = $1 AND digest = $2"
        ))
        .bind(team.0)
        .bind(digest)
        .fetch_optional(&self.read)
        .await?;
        let Some((version, started_at, ended_at, succeeded)) = row else {
            return Ok(None);
        };
        Ok(Some(ImageCheck {
            version: version
                .map(|version| from_json(&version, "version"))
                .transpose()?,
            started_at: Micros(started_at),
            ended_at: Micros(ended_at),
            succeeded,
        }))
    }

    /// Notes the end of a check for an image. One that found nothing leaves what was known.
    pub async fn note_image_check(
        &self,
        team: TeamId,
        digest: &str,
        check: &ImageCheck,
    ) -> Result<()> {
        query(sql!(
            "INSERT INTO image_checks (team_id, digest, version, started_at, ended_at, succeeded)
             VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (team_id, digest) DO UPDATE SET
               version = coalesce(excluded.version, image_checks.version),
               started_at = excluded.started_at, ended_at = excluded.ended_at,
               succeeded = excluded.succeeded"
        ))
        .bind(team.0)
        .bind(digest)
        .bind(check.version.as_ref().map(to_json))
        .bind(check.started_at.0)
        .bind(check.ended_at.0)
        .bind(check.succeeded)
        .execute(&self.write)
        .await?;
        Ok(())
    }

    /// Notes that this is the check for the image of a pipeline's type.
    pub async fn own_image_check(
        &self,
        pipeline: PipelineId,
        name: &str,
        (team, digest): (TeamId, &str),
    ) -> Result<()> {
        query(sql!(
            "INSERT INTO image_check_owners (pipeline_id, name, team_id, digest) VALUES ($1, $2, $3, $4)
             ON CONFLICT (pipeline_id, name) DO UPDATE SET digest = excluded.digest"
        ))
        .bind(pipeline.0)
        .bind(name)
        .bind(team.0)
        .bind(digest)
        .execute(&self.write)
        .await?;
        Ok(())
    }

    /// Forgets what is known of the image of a pipeline's type; how many versions that were.
    pub async fn clear_type_versions(&self, pipeline: PipelineId, name: &str) -> Result<u64> {
        let row: Option<(Option<String>,)> = query_as(sql!(
            "DELETE FROM image_checks WHERE EXISTS (SELECT 1 FROM image_check_owners o
               WHERE o.pipeline_id = $1 AND o.name = $2
                 AND o.team_id = image_checks.team_id AND o.digest = image_checks.digest)
             RETURNING version"
        ))
        .bind(pipeline.0)
        .bind(name)
        .fetch_optional(&self.write)
        .await?;
        Ok(row.is_some_and(|(version,)| version.is_some()).into())
    }

    /// Forgets checks for images that ended before then, a part of them at a time; how many. There
    /// is one for each image that is in use.
    pub async fn collect_image_checks(&self, before: Micros, most: i64) -> Result<u64> {
        query(sql!(
            "DELETE FROM image_checks WHERE (team_id, digest) IN (
               SELECT team_id, digest FROM image_checks WHERE ended_at < $1 LIMIT $2)"
        ))
        .bind(before.0)
        .bind(most)
        .execute(&self.write)
        .await
    }
}

async fn note(tx: &mut Tx, checks: &[(ResourceId, LastCheck)]) -> Result<()> {
    let rows = checks.iter().map(|(resource, check)| {
        [
            Value::from(resource.0),
            check.scope.0.into(),
            check.started_at.0.into(),
            check.ended_at.0.into(),
            i64::from(check.failures).into(),
        ]
    });
    let into = "resource_checks (resource_id, scope, started_at, ended_at, failures)
        SELECT column1, column2, column3, column4, column5 FROM (";
    let then = ") AS noted WHERE EXISTS (SELECT 1 FROM resources r WHERE r.id = noted.column1)
        ON CONFLICT (resource_id) DO UPDATE SET scope = excluded.scope,
        started_at = excluded.started_at, ended_at = excluded.ended_at, failures = excluded.failures";
    insert(tx, into, "(?, ?, ?, ?, ?)", rows.collect(), then).await
}
