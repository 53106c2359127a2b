//! The installation's own facts.

use airside_model::InstallationId;

use crate::{Result, Store};

impl Store {
    /// This installation's id, made on first use.
    pub async fn installation(&self) -> Result<InstallationId> {
        let fresh = hex::encode(rand::random::<[u8; 8]>());
        let id: String = sqlx::query_scalar(
            "INSERT INTO settings (key, value) VALUES ('installation', $1)
             ON CONFLICT (key) DO UPDATE SET value = settings.value RETURNING value",
        )
        .bind(fresh)
        .fetch_one(&self.write)
        .await?;
        Ok(InstallationId(id))
    }
}
