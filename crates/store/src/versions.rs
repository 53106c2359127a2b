//! Versions of resources, in the order in which they were found.

use airside_model::{MetadataField, ResourceId, ResourceVersionId, Version};

use crate::{
    Result, Store,
    db::{query, query_as, sql},
    from_json, to_json,
};

impl Store {
    /// Saves versions that a check or a put found, oldest first. If any is new, all of them move to
    /// the end of the order, as they were given.
    pub async fn save_versions(
        &self,
        resource: ResourceId,
        versions: &[(Version, Vec<MetadataField>)],
    ) -> Result<()> {
        let mut tx = self.write.begin().await?;
        // Two checks at once would number alike: the second waits here.
        query(sql!("UPDATE resources SET active = active WHERE id = $1"))
            .bind(resource.0)
            .execute(&mut tx)
            .await?;
        let mut known = true;
        for (version, metadata) in versions {
            let added = query(sql!(
                "INSERT INTO resource_versions (resource_id, version, metadata, check_order)
                 VALUES ($1, $2, $3, 0) ON CONFLICT (resource_id, version) DO NOTHING"
            ))
            .bind(resource.0)
            .bind(version.canonical())
            .bind(to_json(metadata))
            .execute(&mut tx)
            .await?;
            known &= added == 0;
        }
        if !known {
            for (version, _) in versions {
                query(sql!(
                    "UPDATE resource_versions SET check_order =
                       (SELECT max(check_order) + 1 FROM resource_versions WHERE resource_id = $1)
                     WHERE resource_id = $1 AND version = $2"
                ))
                .bind(resource.0)
                .bind(version.canonical())
                .execute(&mut tx)
                .await?;
            }
        }
        tx.commit().await?;
        Ok(())
    }

    pub async fn latest_version(
        &self,
        resource: ResourceId,
    ) -> Result<Option<(ResourceVersionId, Version)>> {
        let row: Option<(i64, String)> = query_as(sql!(
            "SELECT id, version FROM resource_versions WHERE resource_id = $1
             ORDER BY check_order DESC LIMIT 1"
        ))
        .bind(resource.0)
        .fetch_optional(&self.read)
        .await?;
        row.map(|(id, version)| Ok((ResourceVersionId(id), from_json(&version, "version")?)))
            .transpose()
    }
}
