//! Versions of resources, in the order in which they were found.
//!
//! A resource has a history, its *scope*; another source or type begins another one. A row's id
//! stands for its content within a resource, whichever scope found it, so that what builds had
//! stays true.

mod list;
mod pairs;
mod pin;
mod save;
#[cfg(test)]
mod tests;

use airside_model::{MetadataField, ResourceId, ResourceVersionId, Version};
use sha2::{Digest, Sha256};

pub use list::{VersionFilter, VersionPage};
pub use pin::{Pin, PinOutcome};
pub(crate) use save::save_within;

use crate::{
    Result, Store,
    db::{query_as, sql},
    from_json,
};

/// One of a resource's histories, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VersionScope(pub i64);

/// A version's place in its resource's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionPlace {
    pub version: ResourceVersionId,
    /// `check_order`: higher is newer.
    pub order: i64,
    pub enabled: bool,
}

/// The beginning of a check: the history that it is for, and the version to look from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckFrom {
    pub scope: VersionScope,
    /// The pinned version, or else the newest.
    pub version: Option<Version>,
}

/// The changes that a check or a put made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SavedVersions {
    /// All of it was known: nothing was written.
    NothingNew,
    /// These versions are new, or stand elsewhere in the order now.
    Saved(Vec<VersionPlace>),
    /// The resource has another source or type by now: what was found is of no use, nothing was
    /// written.
    Outdated,
}

/// A version as people see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceVersion {
    pub id: ResourceVersionId,
    pub version: Version,
    pub metadata: Vec<MetadataField>,
    pub enabled: bool,
    pub order: i64,
}

/// Returns the hash by which versions are told apart.
pub(crate) fn digest(version: &Version) -> String {
    hex::encode(Sha256::digest(version.canonical()))
}

impl Store {
    /// Returns the version from which to check a resource. `None` if there is no such resource.
    pub async fn check_from(&self, resource: ResourceId) -> Result<Option<CheckFrom>> {
        let row: Option<(i64, Option<String>, Option<String>)> = query_as(sql!(
            "SELECT r.scope, r.pin, (SELECT v.version FROM resource_versions v
               WHERE v.resource_id = r.id AND v.scope = r.scope
               ORDER BY v.check_order DESC LIMIT 1)
             FROM resources r WHERE r.id = $1"
        ))
        .bind(resource.0)
        .fetch_optional(&self.read)
        .await?;
        let Some((scope, pin, newest)) = row else {
            return Ok(None);
        };
        let version = pin.or(newest);
        Ok(Some(CheckFrom {
            scope: VersionScope(scope),
            version: version
                .map(|text| from_json(&text, "version"))
                .transpose()?,
        }))
    }

    /// The newest version that the resource has, enabled or not.
    pub async fn latest_version(
        &self,
        resource: ResourceId,
    ) -> Result<Option<(ResourceVersionId, Version)>> {
        let row: Option<(i64, String)> = query_as(sql!(
            "SELECT v.id, v.version FROM resources r
             JOIN resource_versions v ON v.resource_id = r.id AND v.scope = r.scope
             WHERE r.id = $1 ORDER BY v.check_order DESC LIMIT 1"
        ))
        .bind(resource.0)
        .fetch_optional(&self.read)
        .await?;
        row.map(|(id, version)| Ok((ResourceVersionId(id), from_json(&version, "version")?)))
            .transpose()
    }
}
