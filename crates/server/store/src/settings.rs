//! The installation's own facts.

use airside_model::InstallationId;

use crate::{
    Result, Store,
    db::{query, query_scalar, sql},
};

/// The keys of the settings table that are read and written as a whole.
#[derive(Clone, Copy)]
pub(crate) enum Setting {
    /// Mark of the key that all rows are sealed with.
    SealedWith,
    /// The message to all users, and until when.
    Wall,
}

impl Setting {
    fn key(self) -> &'static str {
        match self {
            Self::SealedWith => "sealed_with",
            Self::Wall => "wall",
        }
    }
}

impl Store {
    /// This installation's id, made on first use.
    pub async fn installation(&self) -> Result<InstallationId> {
        let fresh = hex::encode(rand::random::<[u8; 8]>());
        let id: String = query_scalar(sql!(
            "INSERT INTO settings (key, value) VALUES ('installation', $1)
             ON CONFLICT (key) DO UPDATE SET value = settings.value RETURNING value"
        ))
        .bind(fresh)
        .fetch_one(&self.write)
        .await?;
        Ok(InstallationId(id))
    }

    pub(crate) async fn setting(&self, setting: Setting) -> Result<Option<String>> {
        query_scalar(sql!("SELECT value FROM settings WHERE key = $1"))
            .bind(setting.key())
            .fetch_optional(&self.read)
            .await
    }

    pub(crate) async fn set_setting(&self, setting: Setting, value: &str) -> Result<()> {
        query(sql!(
            "INSERT INTO settings (key, value) VALUES ($1, $2)
             ON CONFLICT (key) DO UPDATE SET value = excluded.value"
        ))
        .bind(setting.key())
        .bind(value)
        .execute(&self.write)
        .await?;
        Ok(())
    }

    pub(crate) async fn clear_setting(&self, setting: Setting) -> Result<()> {
        query(sql!("DELETE FROM settings WHERE key = $1"))
            .bind(setting.key())
            .execute(&self.write)
            .await?;
        Ok(())
    }
}
