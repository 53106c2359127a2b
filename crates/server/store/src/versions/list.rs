//! Versions for people: pages of them, one at a time, enabled and disabled, taken away.

use airside_model::{ResourceId, ResourceVersionId, Version};

use super::{ResourceVersion, digest, pairs};
use crate::{
    News, Result, Store,
    db::{Sql, Value, here, query, query_as, query_scalar, sql},
    from_json,
};

/// Pairs that a listed version must have.
pub type VersionFilter = Version;

/// A part of a list; both ends are included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VersionPage {
    pub limit: i64,
    /// The oldest version of the part: the versions nearest to it are listed.
    pub from: Option<ResourceVersionId>,
    /// The newest version of the part. It has no meaning with `from`.
    pub to: Option<ResourceVersionId>,
}

macro_rules! columns {
    () => {
        "v.id, v.version, v.metadata, v.enabled, v.check_order"
    };
}

type Row = (i64, String, String, bool, i64);

fn read((id, version, metadata, enabled, order): Row) -> Result<ResourceVersion> {
    Ok(ResourceVersion {
        id: ResourceVersionId(id),
        version: from_json(&version, "version")?,
        metadata: from_json(&metadata, "metadata")?,
        enabled,
        order,
    })
}

impl Store {
    /// A page of the versions that the resource has, newest first.
    pub async fn versions(
        &self,
        resource: ResourceId,
        filter: &VersionFilter,
        page: VersionPage,
    ) -> Result<Vec<ResourceVersion>> {
        let (bound, end) = match (page.from, page.to) {
            (Some(from), _) => (">=", Some(from)),
            (None, Some(to)) => ("<=", Some(to)),
            (None, None) => ("<=", None),
        };
        let end: Option<i64> =
            match end {
                None => Some(i64::MAX),
                Some(id) => query_scalar(sql!(
                    "SELECT check_order FROM resource_versions WHERE id = $1 AND resource_id = $2"
                ))
                .bind(id.0)
                .bind(resource.0)
                .fetch_optional(&self.read)
                .await?,
            };
        let Some(end) = end else {
            return Ok(Vec::new());
        };
        let order = if bound == ">=" { "ASC" } else { "DESC" };
        let (from, mut values) = filtered(filter, bound, order);
        values.insert(0, end.into());
        values.insert(0, page.limit.into());
        let text = format!(
            "SELECT {} FROM resources r {from} AND v.check_order {bound} $3
             ORDER BY v.check_order {order} LIMIT $2",
            columns!()
        );
        let query = query_as(Sql::built(text)).bind(resource.0);
        let rows: Vec<Row> = query.bind_all(values).fetch_all(&self.read).await?;
        let mut versions: Vec<ResourceVersion> =
            rows.into_iter().map(read).collect::<Result<_>>()?;
        if page.from.is_some() {
            versions.reverse();
        }
        Ok(versions)
    }

    /// The nearest versions beyond a page's ends, newer and older, whatever their pairs.
    pub async fn versions_beyond(
        &self,
        resource: ResourceId,
        newest: i64,
        oldest: i64,
    ) -> Result<(Option<ResourceVersionId>, Option<ResourceVersionId>)> {
        let newer = self.versions_up(resource, newest + 1, 1).await?;
        let older = self.versions_down(resource, oldest - 1, 1).await?;
        let first = |places: Vec<crate::VersionPlace>| places.first().map(|place| place.version);
        Ok((first(newer), first(older)))
    }

    /// A version of the resource, also one that it does not have any more.
    pub async fn version(
        &self,
        resource: ResourceId,
        id: ResourceVersionId,
    ) -> Result<Option<ResourceVersion>> {
        let row: Option<Row> = query_as(sql!(
            "SELECT ",
            columns!(),
            " FROM resource_versions v WHERE v.id = $1 AND v.resource_id = $2"
        ))
        .bind(id.0)
        .bind(resource.0)
        .fetch_optional(&self.read)
        .await?;
        row.map(read).transpose()
    }

    /// Lets builds have the version, or not. `false`: the resource has no such version.
    pub async fn enable_version(
        &self,
        resource: ResourceId,
        version: ResourceVersionId,
        enabled: bool,
    ) -> Result<bool> {
        let _turn = self.turn.lock().await;
        let changed = query(sql!(
            "UPDATE resource_versions SET enabled = $1 WHERE id = $2 AND resource_id = $3"
        ))
        .bind(enabled)
        .bind(version.0)
        .bind(resource.0)
        .execute(&self.write)
        .await?;
        if changed > 0 {
            self.announce(News::VersionEnabled {
                resource,
                version,
                enabled,
            });
        }
        Ok(changed > 0)
    }

    /// Takes all versions away from a resource, until they are found again. How many there were.
    pub async fn clear_versions(&self, resource: ResourceId) -> Result<u64> {
        let _turn = self.turn.lock().await;
        let mut tx = self.write.begin(here!()).await?;
        let removed: i64 = query_scalar(sql!(
            "SELECT count(*) FROM resource_versions WHERE resource_id = $1
               AND scope = (SELECT scope FROM resources WHERE id = $1)"
        ))
        .bind(resource.0)
        .fetch_one(&mut tx)
        .await?;
        query(sql!("UPDATE resources SET scope = scope + 1 WHERE id = $1"))
            .bind(resource.0)
            .execute(&mut tx)
            .await?;
        tx.commit().await?;
        self.announce(News::HistoryChanged(resource));
        Ok(u64::try_from(removed).unwrap_or(0))
    }
}

/// Returns the SQL of versions that have all pairs, and the values to bind from `$4` on. Versions
/// of one pair are found by their digest, those of several by their pairs.
fn filtered(filter: &VersionFilter, bound: &str, order: &str) -> (String, Vec<Value>) {
    let versions = "JOIN resource_versions v ON v.resource_id = r.id AND v.scope = r.scope";
    let Some(first) = pairs::first_pair(filter) else {
        return (format!("{versions} WHERE r.id = $1"), Vec::new());
    };
    let (others, more) = pairs::has_others(filter, 6);
    let from = format!(
        "{versions} WHERE r.id = $1 AND v.id IN (
           SELECT id FROM resource_versions WHERE resource_id = $1 AND digest = $4
           UNION ALL
           SELECT version_id FROM (SELECT p.version_id FROM version_pairs p
             WHERE p.resource_id = $1 AND p.pair = $5 AND p.check_order {bound} $3
               AND p.scope = (SELECT scope FROM resources WHERE id = $1){others}
             ORDER BY p.check_order {order} LIMIT $2) parts)"
    );
    let values = [digest(filter).into(), first.into()];
    (from, values.into_iter().chain(more).collect())
}
