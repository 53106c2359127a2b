//! Login tokens, known only by their hash.

use serde_json::Value;

use crate::{
    Micros, Result, Store, corrupt,
    db::{query, query_as, sql},
    now,
};

/// Returns the name that sealed claims are bound to.
pub(crate) fn sealed_as(hash: &str) -> String {
    format!("claims of {hash}")
}

impl Store {
    /// Remembers a token by its hash: who holds it and until when.
    pub async fn save_token(&self, hash: &str, claims: &Value, expires_at: Micros) -> Result<()> {
        query(sql!(
            "INSERT INTO tokens (hash, claims, expires_at) VALUES ($1, $2, $3)"
        ))
        .bind(hash)
        .bind(
            self.sealer()
                .seal(&sealed_as(hash), claims.to_string().as_bytes()),
        )
        .bind(expires_at.0)
        .execute(&self.write)
        .await?;
        Ok(())
    }

    /// The claims of a token and when it expires; `None` if it is unknown or has expired.
    pub async fn token(&self, hash: &str) -> Result<Option<(Value, Micros)>> {
        let row: Option<(Vec<u8>, i64)> = query_as(sql!(
            "SELECT claims, expires_at FROM tokens WHERE hash = $1 AND expires_at > $2"
        ))
        .bind(hash)
        .bind(now().0)
        .fetch_optional(&self.read)
        .await?;
        let Some((sealed, expires_at)) = row else {
            return Ok(None);
        };
        let clear = self.sealer().open(&sealed_as(hash), &sealed)?;
        let claims = serde_json::from_slice(&clear).map_err(|error| {
            corrupt(format!(
                "claims of a token: {}",
                airside_model::chain(&error)
            ))
        })?;
        Ok(Some((claims, Micros(expires_at))))
    }

    pub async fn delete_token(&self, hash: &str) -> Result<()> {
        query(sql!("DELETE FROM tokens WHERE hash = $1"))
            .bind(hash)
            .execute(&self.write)
            .await?;
        Ok(())
    }

    /// Removes tokens that have expired, a part of them at a time; how many.
    pub async fn collect_tokens(&self, most: i64) -> Result<u64> {
        let gone = query(sql!(
            "DELETE FROM tokens WHERE hash IN (
               SELECT hash FROM tokens WHERE expires_at <= $1 LIMIT $2)"
        ))
        .bind(now().0)
        .bind(most)
        .execute(&self.write)
        .await?;
        Ok(gone)
    }
}

#[cfg(test)]
mod tests;
