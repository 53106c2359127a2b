//! Holding a resource to one version.

use airside_model::{ResourceId, ResourceVersionId, Version};

use crate::{
    News, Result, ShownChange, Store,
    db::{here, query, query_as, sql},
};

/// The version that a resource is held to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    pub version: Version,
    /// True if the configuration pins the resource, not a user.
    pub in_config: bool,
    pub comment: String,
}

/// The result of a request to pin or unpin a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum PinOutcome {
    Changed,
    /// The resource has no such version.
    NoSuchVersion,
    /// The resource is pinned in the pipeline's configuration and can be changed only there.
    InConfig,
    NotPinned,
}

impl Store {
    /// Holds the resource to one of its versions. A comment stays.
    pub async fn pin_version(
        &self,
        resource: ResourceId,
        version: ResourceVersionId,
    ) -> Result<PinOutcome> {
        let mut tx = self.write.begin(here!()).await?;
        if is_pinned_in_config(&mut tx, resource).await? {
            return Ok(PinOutcome::InConfig);
        }
        let changed = query(sql!(
            "UPDATE resources SET pin =
               (SELECT version FROM resource_versions WHERE id = $1 AND resource_id = $2)
             WHERE id = $2 AND EXISTS
               (SELECT 1 FROM resource_versions WHERE id = $1 AND resource_id = $2)"
        ))
        .bind(version.0)
        .bind(resource.0)
        .execute(&mut tx)
        .await?;
        if changed == 0 {
            return Ok(PinOutcome::NoSuchVersion);
        }
        tx.commit().await?;
        self.announce(News::PinChanged(resource));
        Ok(PinOutcome::Changed)
    }

    pub async fn unpin(&self, resource: ResourceId) -> Result<PinOutcome> {
        let mut tx = self.write.begin(here!()).await?;
        if is_pinned_in_config(&mut tx, resource).await? {
            return Ok(PinOutcome::InConfig);
        }
        let changed = query(sql!(
            "UPDATE resources SET pin = NULL, pin_comment = '' WHERE id = $1 AND pin IS NOT NULL"
        ))
        .bind(resource.0)
        .execute(&mut tx)
        .await?;
        if changed == 0 {
            return Ok(PinOutcome::NotPinned);
        }
        tx.commit().await?;
        self.announce(News::PinChanged(resource));
        Ok(PinOutcome::Changed)
    }

    /// Says why it is pinned. `false`: it is not.
    pub async fn set_pin_comment(&self, resource: ResourceId, comment: &str) -> Result<bool> {
        let changed = query(sql!(
            "UPDATE resources SET pin_comment = $1 WHERE id = $2 AND pin IS NOT NULL"
        ))
        .bind(comment)
        .bind(resource.0)
        .execute(&self.write)
        .await?;
        if changed > 0 {
            self.show(ShownChange::ResourceChanged(resource));
        }
        Ok(changed > 0)
    }
}

async fn is_pinned_in_config(tx: &mut crate::db::Tx, resource: ResourceId) -> Result<bool> {
    let row: Option<(bool,)> = query_as(sql!("SELECT pin_in_config FROM resources WHERE id = $1"))
        .bind(resource.0)
        .fetch_optional(tx)
        .await?;
    Ok(row.is_some_and(|(in_config,)| in_config))
}
