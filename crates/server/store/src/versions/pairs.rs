//! Versions by some of their pairs: for pins and filters that do not name all.
//!
//! A version of one pair is found by its digest. One of several has a row for each pair, in its
//! order.

use airside_model::{ResourceId, ResourceVersionId, Version};
use sha2::{Digest, Sha256};

use super::{VersionScope, digest};
use crate::{
    Result, Store,
    db::{Sql, Tx, Value, insert, query_as, sql},
};

fn pair(key: &str, value: &str) -> String {
    let mut hash = Sha256::new();
    hash.update((key.len() as u64).to_le_bytes());
    hash.update(key);
    hash.update(value);
    // Half of it tells pairs of one resource apart.
    hex::encode(&hash.finalize()[..16])
}

/// Notes where versions stand: id, place, content.
pub(super) async fn place<'a>(
    tx: &mut Tx,
    resource: ResourceId,
    scope: VersionScope,
    versions: impl Iterator<Item = (i64, i64, &'a Version)>,
) -> Result<()> {
    let rows = versions
        .filter(|(_, _, version)| version.0.len() > 1)
        .flat_map(|(id, order, version)| {
            version.0.iter().map(move |(key, value)| {
                [
                    Value::from(id),
                    pair(key, value).into(),
                    resource.0.into(),
                    scope.0.into(),
                    order.into(),
                ]
            })
        });
    let into = "version_pairs (version_id, pair, resource_id, scope, check_order)";
    let then = "ON CONFLICT (version_id, pair) DO UPDATE SET scope = excluded.scope,
        check_order = excluded.check_order";
    insert(tx, into, "(?, ?, ?, ?, ?)", rows.collect(), then).await
}

/// `EXISTS` for each pair but the first, from the given placeholder on.
pub(super) fn has_others(pin: &Version, first: usize) -> (String, Vec<Value>) {
    let (mut text, mut values) = (String::new(), Vec::new());
    for (at, (key, value)) in pin.0.iter().skip(1).enumerate() {
        text.push_str(&format!(
            " AND EXISTS (SELECT 1 FROM version_pairs o
               WHERE o.version_id = p.version_id AND o.pair = ${})",
            first + at
        ));
        values.push(pair(key, value).into());
    }
    (text, values)
}

/// The digest of a pin's first pair.
pub(super) fn first_pair(pin: &Version) -> Option<String> {
    pin.0.iter().next().map(|(key, value)| pair(key, value))
}

impl Store {
    /// The newest version that the resource has and that has every pair of the pin.
    pub async fn version_containing(
        &self,
        resource: ResourceId,
        pin: &Version,
    ) -> Result<Option<ResourceVersionId>> {
        let Some(first) = first_pair(pin) else {
            let latest = self.latest_version(resource).await?;
            return Ok(latest.map(|(id, _)| id));
        };
        let whole: Option<(i64, i64)> = query_as(sql!(
            "SELECT v.check_order, v.id FROM resource_versions v JOIN resources r
               ON r.id = v.resource_id AND r.scope = v.scope
             WHERE v.resource_id = $1 AND v.digest = $2"
        ))
        .bind(resource.0)
        .bind(digest(pin))
        .fetch_optional(&self.read)
        .await?;
        let (others, values) = has_others(pin, 3);
        let text = format!(
            "SELECT p.check_order, p.version_id FROM version_pairs p
             WHERE p.resource_id = $1 AND p.pair = $2
               AND p.scope = (SELECT scope FROM resources WHERE id = $1){others}
             ORDER BY p.check_order DESC LIMIT 1"
        );
        let part: Option<(i64, i64)> = query_as(Sql::built(text))
            .bind(resource.0)
            .bind(first)
            .bind_all(values)
            .fetch_optional(&self.read)
            .await?;
        Ok(whole.max(part).map(|(_, id)| ResourceVersionId(id)))
    }
}
