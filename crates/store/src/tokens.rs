//! Login tokens, known only by their hash.

use serde_json::Value;

use crate::{Micros, Result, Store, from_json, now, to_json};

impl Store {
    /// Remembers a token by its hash: who holds it and until when.
    pub async fn save_token(&self, hash: &str, claims: &Value, expires_at: Micros) -> Result<()> {
        sqlx::query("INSERT INTO tokens (hash, claims, expires_at) VALUES ($1, $2, $3)")
            .bind(hash)
            .bind(to_json(claims))
            .bind(expires_at.0)
            .execute(&self.write)
            .await?;
        Ok(())
    }

    /// The claims of a token and when it expires; `None` if it is unknown or has expired.
    pub async fn token(&self, hash: &str) -> Result<Option<(Value, Micros)>> {
        let row: Option<(String, i64)> = sqlx::query_as(
            "SELECT claims, expires_at FROM tokens WHERE hash = $1 AND expires_at > $2",
        )
        .bind(hash)
        .bind(now().0)
        .fetch_optional(&self.read)
        .await?;
        row.map(|(claims, expires_at)| {
            Ok((from_json(&claims, "token claims")?, Micros(expires_at)))
        })
        .transpose()
    }

    pub async fn delete_token(&self, hash: &str) -> Result<()> {
        sqlx::query("DELETE FROM tokens WHERE hash = $1")
            .bind(hash)
            .execute(&self.write)
            .await?;
        Ok(())
    }

    /// Removes the tokens that have expired; how many there were.
    pub async fn collect_tokens(&self) -> Result<u64> {
        let gone = sqlx::query("DELETE FROM tokens WHERE expires_at <= $1")
            .bind(now().0)
            .execute(&self.write)
            .await?;
        Ok(gone.rows_affected())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use crate::{Micros, Sealer, Store, now};

    #[tokio::test]
    async fn a_token_lives_until_it_expires_or_is_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let sealer = Sealer::new(&[0; 32]).unwrap();
        let store = Store::open(&dir.path().join("db"), sealer).await.unwrap();
        let claims = json!({"user_name": "ann"});
        let later = now().plus(Duration::from_secs(60));
        store.save_token("live", &claims, later).await.unwrap();
        store
            .save_token("old", &claims, Micros(now().0 - 1))
            .await
            .unwrap();

        assert_eq!(store.token("live").await.unwrap(), Some((claims, later)));
        assert_eq!(store.token("old").await.unwrap(), None);
        assert_eq!(store.token("unknown").await.unwrap(), None);

        assert_eq!(store.collect_tokens().await.unwrap(), 1);
        assert_eq!(store.collect_tokens().await.unwrap(), 0);
        store.delete_token("live").await.unwrap();
        assert_eq!(store.token("live").await.unwrap(), None);
    }
}
