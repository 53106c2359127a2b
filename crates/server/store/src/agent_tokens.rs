//! Tokens with which machines may join as agents. They are known only by their hash.

use crate::{
    Error, Micros, Result, Store,
    db::{query, query_as, sql},
    from_json, now, to_json,
};

/// The rights that an agent's token gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentPass {
    /// The worker that its holder may be.
    pub name: String,
    /// The one team that it serves; none: all.
    pub team: Option<String>,
    pub tags: Vec<String>,
    pub created_at: Micros,
}

#[derive(sqlx::FromRow)]
struct Row {
    name: String,
    team: Option<String>,
    tags: String,
    created_at: i64,
}

impl TryFrom<Row> for AgentPass {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self> {
        Ok(Self {
            name: row.name,
            team: row.team,
            tags: from_json(&row.tags, "tags of an agent")?,
            created_at: Micros(row.created_at),
        })
    }
}

impl Store {
    /// Remembers a token; one that the name had before is good for nothing any more.
    pub async fn save_agent_token(
        &self,
        name: &str,
        team: Option<&str>,
        tags: &[String],
        hash: &str,
    ) -> Result<()> {
        query(sql!(
            "INSERT INTO agent_tokens (name, team, tags, hash, created_at)
             VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (name) DO UPDATE SET team = excluded.team, tags = excluded.tags,
               hash = excluded.hash, created_at = excluded.created_at"
        ))
        .bind(name)
        .bind(team)
        .bind(to_json(&tags))
        .bind(hash)
        .bind(now().0)
        .execute(&self.write)
        .await?;
        Ok(())
    }

    /// Returns the rights of the token with this hash, if it is the agent's of this name.
    pub async fn agent_pass(&self, name: &str, hash: &str) -> Result<Option<AgentPass>> {
        let row: Option<Row> = query_as(sql!(
            "SELECT name, team, tags, created_at FROM agent_tokens WHERE name = $1 AND hash = $2"
        ))
        .bind(name)
        .bind(hash)
        .fetch_optional(&self.read)
        .await?;
        row.map(AgentPass::try_from).transpose()
    }

    /// All there are.
    pub async fn agent_passes(&self) -> Result<Vec<AgentPass>> {
        let rows: Vec<Row> = query_as(sql!(
            "SELECT name, team, tags, created_at FROM agent_tokens ORDER BY name"
        ))
        .fetch_all(&self.read)
        .await?;
        rows.into_iter().map(AgentPass::try_from).collect()
    }

    /// Revokes the name's token. Returns false if it had none.
    pub async fn revoke_agent_token(&self, name: &str) -> Result<bool> {
        let gone = query(sql!("DELETE FROM agent_tokens WHERE name = $1"))
            .bind(name)
            .execute(&self.write)
            .await?;
        Ok(gone == 1)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::TestDatabase;

    crate::on_both_databases!(
        a_name_has_one_token,
        tokens_are_revoked,
        tokens_go_with_their_team
    );

    async fn a_name_has_one_token(database: TestDatabase) {
        let store = database.open().await;
        let tags = ["gpu".to_owned()];
        store
            .save_agent_token("a", Some("main"), &tags, "h1")
            .await
            .unwrap();
        let pass = store.agent_pass("a", "h1").await.unwrap().unwrap();
        assert_eq!(
            (pass.team.as_deref(), pass.tags.as_slice()),
            (Some("main"), &tags[..])
        );
        store.save_agent_token("a", None, &[], "h2").await.unwrap();
        store.save_agent_token("b", None, &[], "h3").await.unwrap();
        assert_eq!(store.agent_pass("a", "h1").await.unwrap(), None, "replaced");
        assert_eq!(
            store.agent_pass("b", "h2").await.unwrap(),
            None,
            "another's name"
        );
        assert!(store.agent_pass("a", "h2").await.unwrap().is_some());
        let names: Vec<_> = store.agent_passes().await.unwrap();
        let names: Vec<_> = names.iter().map(|pass| pass.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
    }

    async fn tokens_are_revoked(database: TestDatabase) {
        let store = database.open().await;
        store.save_agent_token("a", None, &[], "h").await.unwrap();
        assert!(store.revoke_agent_token("a").await.unwrap());
        assert!(!store.revoke_agent_token("a").await.unwrap());
        assert_eq!(store.agent_pass("a", "h").await.unwrap(), None);
    }

    async fn tokens_go_with_their_team(database: TestDatabase) {
        let store = database.open().await;
        let (team, _) = store.save_team("crew", &json!({})).await.unwrap();
        for (name, team) in [("a", Some("crew")), ("b", None)] {
            store.save_agent_token(name, team, &[], "h").await.unwrap();
        }
        store.rename_team(team.id, "band").await.unwrap();
        let pass = store.agent_pass("a", "h").await.unwrap().unwrap();
        assert_eq!(pass.team.as_deref(), Some("band"));
        assert!(store.destroy_team(team.id).await.unwrap());
        assert_eq!(store.agent_pass("a", "h").await.unwrap(), None);
        assert!(store.agent_pass("b", "h").await.unwrap().is_some());
    }
}
