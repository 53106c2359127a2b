//! Teams and who belongs to them.

use airside_model::TeamId;
use serde_json::Value;

use crate::{Result, Store, from_json, to_json};

/// The team that exists from the start; its owners administer the installation.
const MAIN_TEAM: &str = "main";

#[derive(Clone, Debug, PartialEq)]
pub struct Team {
    pub id: TeamId,
    pub name: String,
    /// Whether the team's owners administer the whole installation.
    pub admin: bool,
    /// Role → `{"users": ["connector:name"], "groups": [...]}`.
    pub auth: Value,
}

type Row = (i64, String, bool, String);

fn team(row: Row) -> Result<Team> {
    let (id, name, admin, auth) = row;
    Ok(Team {
        id: TeamId(id),
        name,
        admin,
        auth: from_json(&auth, "team auth")?,
    })
}

impl Store {
    /// Makes the main team on first use, and gives it these members.
    pub async fn ensure_main_team(&self, auth: &Value) -> Result<Team> {
        let row: Row = sqlx::query_as(
            "INSERT INTO teams (id, name, admin, auth) VALUES (1, $1, TRUE, $2)
             ON CONFLICT (id) DO UPDATE SET auth = excluded.auth, admin = TRUE
             RETURNING id, name, admin, auth",
        )
        .bind(MAIN_TEAM)
        .bind(to_json(auth))
        .fetch_one(&self.write)
        .await?;
        self.changed();
        team(row)
    }

    pub async fn team(&self, name: &str) -> Result<Option<Team>> {
        let row: Option<Row> =
            sqlx::query_as("SELECT id, name, admin, auth FROM teams WHERE name = $1")
                .bind(name)
                .fetch_optional(&self.read)
                .await?;
        row.map(team).transpose()
    }

    pub async fn teams(&self) -> Result<Vec<Team>> {
        let rows: Vec<Row> = sqlx::query_as("SELECT id, name, admin, auth FROM teams ORDER BY id")
            .fetch_all(&self.read)
            .await?;
        rows.into_iter().map(team).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{Sealer, Store};

    #[tokio::test]
    async fn the_main_team_is_made_once_and_its_members_follow_the_settings() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        let sealer = Sealer::new(&[0; 32]).unwrap();
        let store = Store::open(&path, sealer.clone()).await.unwrap();
        assert_eq!(store.teams().await.unwrap(), []);

        let first = json!({"owner": {"users": ["local:ann"], "groups": []}});
        let made = store.ensure_main_team(&first).await.unwrap();
        assert_eq!(
            (made.id.0, made.name.as_str(), made.admin),
            (1, "main", true)
        );
        assert_eq!(made.auth, first);

        let second = json!({"owner": {"users": ["local:bob"], "groups": []}});
        store.ensure_main_team(&second).await.unwrap();
        drop(store);

        let store = Store::open(&path, sealer).await.unwrap();
        let teams = store.teams().await.unwrap();
        assert_eq!(teams.len(), 1);
        assert_eq!(teams[0].auth, second);
        assert_eq!(store.team("main").await.unwrap().as_ref(), Some(&teams[0]));
        assert_eq!(store.team("other").await.unwrap(), None);
    }
}
