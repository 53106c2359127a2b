//! Teams and who belongs to them.

use airside_model::TeamId;
use serde_json::Value;

use crate::{
    Error, Result, Sealer, Store, corrupt,
    db::{query, query_as, query_scalar, sql},
};

/// The team that exists from the start; its owners administer the installation.
pub const MAIN_TEAM: &str = "main";

/// What sealed members are bound to. Not the name, which may change.
pub(crate) const SEALED_AS: &str = "team auth";

#[derive(Clone, Debug, PartialEq)]
pub struct Team {
    pub id: TeamId,
    pub name: String,
    /// Whether the team's owners administer the whole installation.
    pub admin: bool,
    /// Role → `{"users": ["connector:name"], "groups": [...]}`.
    pub auth: Value,
}

type Row = (i64, String, bool, Vec<u8>);

fn team(sealer: &Sealer, (id, name, admin, auth): Row) -> Result<Team> {
    let clear = sealer.open(SEALED_AS, &auth)?;
    let auth =
        serde_json::from_slice(&clear).map_err(|error| corrupt(format!("{SEALED_AS}: {error}")))?;
    Ok(Team {
        id: TeamId(id),
        name,
        admin,
        auth,
    })
}

impl Store {
    /// Makes the main team on first use, and gives it these members.
    pub async fn ensure_main_team(&self, auth: &Value) -> Result<Team> {
        let row: Row = query_as(sql!(
            "INSERT INTO teams (name, admin, auth) VALUES ($1, TRUE, $2)
             ON CONFLICT (name) DO UPDATE SET auth = excluded.auth, admin = TRUE
             RETURNING id, name, admin, auth"
        ))
        .bind(MAIN_TEAM)
        .bind(self.seal_auth(auth))
        .fetch_one(&self.write)
        .await?;
        self.changed();
        team(self.sealer(), row)
    }

    /// Makes a team, or gives the one of this name other members. Whether it was made.
    pub async fn save_team(&self, name: &str, auth: &Value) -> Result<(Team, bool)> {
        let mut tx = self.write.begin().await?;
        let sealed = self.seal_auth(auth);
        let made = query(sql!(
            "INSERT INTO teams (name, admin, auth) VALUES ($1, FALSE, $2)
             ON CONFLICT (name) DO NOTHING"
        ))
        .bind(name)
        .bind(sealed.clone())
        .execute(&mut tx)
        .await?;
        let row: Row = query_as(sql!(
            "UPDATE teams SET auth = $1 WHERE name = $2 RETURNING id, name, admin, auth"
        ))
        .bind(sealed)
        .bind(name)
        .fetch_one(&mut tx)
        .await?;
        tx.commit().await?;
        self.changed();
        Ok((team(self.sealer(), row)?, made == 1))
    }

    /// Gives a team another name, which nobody may have yet.
    pub async fn rename_team(&self, id: TeamId, name: &str) -> Result<()> {
        let mut tx = self.write.begin().await?;
        let taken: i64 = query_scalar(sql!(
            "SELECT count(*) FROM teams WHERE name = $1 AND id <> $2"
        ))
        .bind(name)
        .bind(id.0)
        .fetch_one(&mut tx)
        .await?;
        if taken > 0 {
            return Err(Error::NameTaken {
                name: name.to_owned(),
            });
        }
        query(sql!("UPDATE teams SET name = $1 WHERE id = $2"))
            .bind(name)
            .bind(id.0)
            .execute(&mut tx)
            .await?;
        tx.commit().await?;
        self.changed();
        Ok(())
    }

    /// Removes a team with its pipelines and builds. A team that administers stays: `false`.
    pub async fn destroy_team(&self, id: TeamId) -> Result<bool> {
        let gone = query(sql!("DELETE FROM teams WHERE id = $1 AND NOT admin"))
            .bind(id.0)
            .execute(&self.write)
            .await?;
        self.changed();
        Ok(gone == 1)
    }

    pub async fn team(&self, name: &str) -> Result<Option<Team>> {
        let row: Option<Row> = query_as(sql!(
            "SELECT id, name, admin, auth FROM teams WHERE name = $1"
        ))
        .bind(name)
        .fetch_optional(&self.read)
        .await?;
        row.map(|row| team(self.sealer(), row)).transpose()
    }

    pub async fn teams(&self) -> Result<Vec<Team>> {
        let rows: Vec<Row> = query_as(sql!("SELECT id, name, admin, auth FROM teams ORDER BY id"))
            .fetch_all(&self.read)
            .await?;
        rows.into_iter()
            .map(|row| team(self.sealer(), row))
            .collect()
    }

    fn seal_auth(&self, auth: &Value) -> Vec<u8> {
        self.sealer().seal(SEALED_AS, auth.to_string().as_bytes())
    }
}

#[cfg(test)]
mod tests;
