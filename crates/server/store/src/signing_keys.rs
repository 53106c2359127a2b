//! Keys that id tokens are signed with.

use crate::{
    Micros, Result, Store,
    db::{query, query_as, sql},
};

/// The private half of a key, as PKCS #8.
pub struct SigningKey {
    /// The key's name in tokens and for verifiers.
    pub id: String,
    pub algorithm: String,
    pub private_key: Vec<u8>,
    pub created_at: Micros,
}

/// Returns the name that the sealed bytes of a key are bound to.
pub(crate) fn sealed_as(id: &str) -> String {
    format!("signing key {id}")
}

impl Store {
    pub async fn save_signing_key(&self, key: &SigningKey) -> Result<()> {
        let sealed = self.sealer().seal(&sealed_as(&key.id), &key.private_key);
        query(sql!(
            "INSERT INTO signing_keys (id, algorithm, private_key, created_at) VALUES ($1, $2, $3, $4)"
        ))
        .bind(&key.id)
        .bind(&key.algorithm)
        .bind(sealed)
        .bind(key.created_at.0)
        .execute(&self.write)
        .await?;
        Ok(())
    }

    /// All keys, the newest first.
    pub async fn signing_keys(&self) -> Result<Vec<SigningKey>> {
        let rows: Vec<(String, String, Vec<u8>, i64)> = query_as(sql!(
            "SELECT id, algorithm, private_key, created_at FROM signing_keys ORDER BY created_at DESC, id"
        ))
        .fetch_all(&self.read)
        .await?;
        let opened = rows.into_iter().map(|(id, algorithm, sealed, created_at)| {
            let private_key = self.sealer().open(&sealed_as(&id), &sealed)?;
            Ok(SigningKey {
                id,
                algorithm,
                private_key,
                created_at: Micros(created_at),
            })
        });
        opened.collect()
    }

    pub async fn delete_signing_key(&self, id: &str) -> Result<()> {
        query(sql!("DELETE FROM signing_keys WHERE id = $1"))
            .bind(id)
            .execute(&self.write)
            .await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
