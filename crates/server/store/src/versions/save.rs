//! Saving what a check or a put found.
//!
//! If any of it is new, all of it stands at the end of the order afterwards, as it was given; what
//! stands there already stays where it is. If nothing is new, nothing is written.

use std::collections::{HashMap, HashSet};

use airside_model::{MetadataField, Quota, ResourceId, ResourceVersionId, Version};

use super::{CheckFrom, SavedVersions, VersionPlace, VersionScope, digest, pairs};
use crate::{
    News, Result, Store,
    db::{On, Tx, execute_for, fetch_for, here, insert, query, query_as, query_scalar, sql},
    to_json,
};

/// The found versions, each once, with its digest.
type Wanted<'a> = Vec<(String, &'a Version, &'a [MetadataField])>;

/// A row that is there already.
#[derive(Clone, sqlx::FromRow)]
struct Known {
    id: i64,
    digest: String,
    scope: i64,
    check_order: i64,
    enabled: bool,
}

impl Store {
    /// Saves what a check found, oldest first; `from` is what the check began with.
    pub async fn save_versions(
        &self,
        resource: ResourceId,
        from: &CheckFrom,
        versions: &[(Version, Vec<MetadataField>)],
    ) -> Result<SavedVersions> {
        let versions = self.newest_within_quota(resource, versions).await?;
        let wanted = once_each(versions);
        let scope: Option<i64> = query_scalar(sql!("SELECT scope FROM resources WHERE id = $1"))
            .bind(resource.0)
            .fetch_optional(&self.read)
            .await?;
        if scope != Some(from.scope.0) {
            return Ok(SavedVersions::Outdated);
        }
        let known = known(&self.read, resource, &wanted).await?;
        if is_all_known(&known, &wanted, from.scope) {
            return Ok(SavedVersions::NothingNew);
        }
        // Listeners are notified of changes to a resource in the order in which they were made.
        let _turn = self.turn.lock().await;
        let mut tx = self.write.begin(here!()).await?;
        let found = save_within(&mut tx, resource, Some(from.scope), versions).await?;
        if let SavedVersions::Saved(versions) = &found {
            tx.commit().await?;
            let versions = versions.clone();
            self.announce(News::VersionsSaved { resource, versions });
        }
        Ok(found)
    }

    /// The newest of what a check found, as many as the team may keep: the others would be
    /// forgotten at once, and found again by the next check.
    async fn newest_within_quota<'v>(
        &self,
        resource: ResourceId,
        versions: &'v [(Version, Vec<MetadataField>)],
    ) -> Result<&'v [(Version, Vec<MetadataField>)]> {
        if !self.quotas().has(Quota::Versions) {
            return Ok(versions);
        }
        let team: Option<String> = query_scalar(sql!(
            "SELECT t.name FROM resources r JOIN pipelines p ON p.id = r.pipeline_id
             JOIN teams t ON t.id = p.team_id WHERE r.id = $1"
        ))
        .bind(resource.0)
        .fetch_optional(&self.read)
        .await?;
        let limit = team.and_then(|team| self.quotas().limit(&team, Quota::Versions));
        let kept = limit.map_or(usize::MAX, |limit| {
            usize::try_from(limit).unwrap_or(usize::MAX)
        });
        Ok(&versions[versions.len().saturating_sub(kept.max(1))..])
    }

    /// Notes what a get or put learnt about a version. Nothing is written if that was known.
    pub async fn save_metadata(
        &self,
        resource: ResourceId,
        version: &Version,
        metadata: &[MetadataField],
    ) -> Result<()> {
        let (digest, metadata) = (digest(version), to_json(&metadata));
        let row: Option<(i64, String)> = query_as(sql!(
            "SELECT id, metadata FROM resource_versions WHERE resource_id = $1 AND digest = $2"
        ))
        .bind(resource.0)
        .bind(digest)
        .fetch_optional(&self.read)
        .await?;
        if let Some((id, known)) = row
            && known != metadata
        {
            query(sql!(
                "UPDATE resource_versions SET metadata = $1 WHERE id = $2"
            ))
            .bind(metadata)
            .bind(id)
            .execute(&self.write)
            .await?;
        }
        Ok(())
    }
}

/// A version that comes twice counts where it comes last.
fn once_each(versions: &[(Version, Vec<MetadataField>)]) -> Wanted<'_> {
    let mut seen = HashSet::new();
    let mut wanted: Wanted<'_> = Vec::with_capacity(versions.len());
    for (version, metadata) in versions.iter().rev() {
        let digest = digest(version);
        if seen.insert(digest.clone()) {
            wanted.push((digest, version, metadata));
        }
    }
    wanted.reverse();
    wanted
}

async fn known<'a>(
    on: impl Into<On<'a>>,
    resource: ResourceId,
    wanted: &Wanted<'_>,
) -> Result<HashMap<String, Known>> {
    let digests = wanted.iter().map(|(digest, ..)| digest.as_str().into());
    let head = "SELECT id, digest, scope, check_order, enabled FROM resource_versions
        WHERE resource_id = $1 AND digest IN";
    let rows: Vec<Known> = fetch_for(on, head, resource.0.into(), digests.collect()).await?;
    Ok(rows
        .into_iter()
        .map(|row| (row.digest.clone(), row))
        .collect())
}

fn is_all_known(known: &HashMap<String, Known>, wanted: &Wanted<'_>, scope: VersionScope) -> bool {
    wanted
        .iter()
        .all(|(digest, ..)| known.get(digest).is_some_and(|row| row.scope == scope.0))
}

/// Saves versions within a transaction, in the scope that is given or else in the one that the
/// resource has now.
pub(crate) async fn save_within(
    tx: &mut Tx,
    resource: ResourceId,
    scope: Option<VersionScope>,
    versions: &[(Version, Vec<MetadataField>)],
) -> Result<SavedVersions> {
    let wanted = once_each(versions);
    // Two at once would number alike: the second waits here.
    let current: Option<i64> = query_scalar(sql!(
        "UPDATE resources SET active = active WHERE id = $1 RETURNING scope"
    ))
    .bind(resource.0)
    .fetch_optional(&mut *tx)
    .await?;
    let Some(current) = current.map(VersionScope) else {
        return Ok(SavedVersions::Outdated);
    };
    if scope.is_some_and(|scope| scope != current) {
        return Ok(SavedVersions::Outdated);
    }
    let known = known(&mut *tx, resource, &wanted).await?;
    if is_all_known(&known, &wanted, current) {
        return Ok(SavedVersions::NothingNew);
    }
    let (highest, kept) = tail(tx, resource, current, &known, &wanted).await?;
    let moved: Wanted<'_> = wanted.into_iter().skip(kept).collect();
    let places = put_last(tx, resource, current, highest, &moved).await?;
    let known: Vec<i64> = moved
        .iter()
        .filter_map(|(digest, ..)| Some(known.get(digest)?.id))
        .collect();
    execute_for(
        tx,
        "UPDATE job_uses SET
           scope = (SELECT v.scope FROM resource_versions v WHERE v.id = job_uses.version_id),
           check_order = (SELECT v.check_order FROM resource_versions v
             WHERE v.id = job_uses.version_id)
         WHERE version_id IN",
        &known,
    )
    .await?;
    Ok(SavedVersions::Saved(places))
}

/// The highest place that is taken, and how many of what was found stand at the end of the order
/// already, in this order: a check begins with the version that it looked from.
async fn tail(
    tx: &mut Tx,
    resource: ResourceId,
    scope: VersionScope,
    known: &HashMap<String, Known>,
    wanted: &Wanted<'_>,
) -> Result<(i64, usize)> {
    let there = |(digest, ..): &(String, _, _)| {
        let row = known.get(digest)?;
        (row.scope == scope.0).then_some(row.id)
    };
    let leading: Vec<i64> = wanted.iter().map_while(there).collect();
    let limit = leading.len().max(1) as i64;
    let newest: Vec<(i64, i64)> = query_as(sql!(
        "SELECT id, check_order FROM resource_versions WHERE resource_id = $1 AND scope = $2
         ORDER BY check_order DESC LIMIT $3"
    ))
    .bind(resource.0)
    .bind(scope.0)
    .bind(limit)
    .fetch_all(tx)
    .await?;
    let Some((last, highest)) = newest.first() else {
        return Ok((0, 0));
    };
    let kept = leading
        .iter()
        .position(|id| id == last)
        .map_or(0, |at| at + 1);
    let in_place = newest
        .iter()
        .zip(leading[..kept].iter().rev())
        .all(|((there, _), wanted)| there == wanted);
    Ok((*highest, if in_place { kept } else { 0 }))
}

/// Puts these at the end of the order, new or not.
async fn put_last(
    tx: &mut Tx,
    resource: ResourceId,
    scope: VersionScope,
    highest: i64,
    moved: &Wanted<'_>,
) -> Result<Vec<VersionPlace>> {
    let rows = (highest + 1..)
        .zip(moved)
        .map(|(order, (digest, version, metadata))| {
            [
                resource.0.into(),
                digest.as_str().into(),
                version.canonical().into(),
                to_json(metadata).into(),
                scope.0.into(),
                order.into(),
            ]
        });
    let into = "resource_versions (resource_id, digest, version, metadata, scope, check_order)";
    let then = "ON CONFLICT (resource_id, digest) DO UPDATE SET scope = excluded.scope,
        check_order = excluded.check_order, metadata = CASE WHEN excluded.metadata = '[]'
          THEN resource_versions.metadata ELSE excluded.metadata END";
    insert(tx, into, "(?, ?, ?, ?, ?, ?)", rows.collect(), then).await?;
    let placed = known(&mut *tx, resource, moved).await?;
    pairs::place(
        tx,
        resource,
        scope,
        moved.iter().filter_map(|(digest, version, _)| {
            let row = placed.get(digest)?;
            Some((row.id, row.check_order, *version))
        }),
    )
    .await?;
    let places = moved.iter().filter_map(|(digest, ..)| {
        let row = placed.get(digest)?;
        Some(VersionPlace {
            version: ResourceVersionId(row.id),
            order: row.check_order,
            enabled: row.enabled,
        })
    });
    Ok(places.collect())
}
