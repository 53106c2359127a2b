//! Teams and who belongs to them.

use airside_model::{TeamId, chain};
use serde_json::Value;

use crate::{
    Error, Result, Sealer, ShownChange, Store, corrupt,
    db::{Tx, here, query, query_as, query_scalar, sql},
};

/// The team that exists from the start; its owners administer the installation.
pub const MAIN_TEAM: &str = "main";

/// Returns the name that sealed members are bound to: this row and no other. Not the team's name,
/// which may change.
pub(crate) fn sealed_as(id: impl std::fmt::Display) -> String {
    format!("members of team {id}")
}

#[derive(Clone, Debug, PartialEq)]
pub struct Team {
    pub id: TeamId,
    pub name: String,
    /// True if the team's owners administer the whole installation.
    pub admin: bool,
    /// Role → `{"users": ["connector:name"], "groups": [...]}`.
    pub auth: Value,
}

type Row = (i64, String, bool, Vec<u8>);

fn team(sealer: &Sealer, (id, name, admin, auth): Row) -> Result<Team> {
    let clear = sealer.open(&sealed_as(id), &auth)?;
    let auth = serde_json::from_slice(&clear)
        .map_err(|error| corrupt(format!("members: {}", chain(&error))))?;
    Ok(Team {
        id: TeamId(id),
        name,
        admin,
        auth,
    })
}

/// Returns the number of the team of this name, and true if the team is new. A number is never
/// given a second time.
async fn find_or_make(tx: &mut Tx, name: &str) -> Result<(i64, bool)> {
    let by_name = sql!("SELECT id FROM teams WHERE name = $1");
    let known: Option<i64> = query_scalar(by_name)
        .bind(name)
        .fetch_optional(&mut *tx)
        .await?;
    if let Some(id) = known {
        return Ok((id, false));
    }
    // It also makes those wait who make a team at the same time.
    let number: i64 = query_scalar(sql!(
        "UPDATE team_numbers SET last = last + 1 RETURNING last"
    ))
    .fetch_one(&mut *tx)
    .await?;
    let made = query(sql!(
        "INSERT INTO teams (id, name, admin, auth) VALUES ($1, $2, FALSE, $3)
         ON CONFLICT (name) DO NOTHING"
    ))
    .bind(number)
    .bind(name)
    .bind(Vec::new())
    .execute(&mut *tx)
    .await?;
    if made == 1 {
        return Ok((number, true));
    }
    let id = query_scalar(sql!("SELECT id FROM teams WHERE name = $1"))
        .bind(name)
        .fetch_one(tx)
        .await?;
    Ok((id, false))
}

impl Store {
    /// Makes the main team on first use, and gives it these members.
    pub async fn ensure_main_team(&self, auth: &Value) -> Result<Team> {
        let mut tx = self.write.begin(here!()).await?;
        let (id, _) = find_or_make(&mut tx, MAIN_TEAM).await?;
        query(sql!("UPDATE teams SET admin = TRUE WHERE id = $1"))
            .bind(id)
            .execute(&mut tx)
            .await?;
        let team = self.set_members(&mut tx, id, auth).await?;
        tx.commit().await?;
        self.show(ShownChange::TeamChanged(team.id));
        Ok(team)
    }

    /// Makes a team, or gives the one of this name other members. Whether it was made.
    pub async fn save_team(&self, name: &str, auth: &Value) -> Result<(Team, bool)> {
        let mut tx = self.write.begin(here!()).await?;
        let (id, is_new) = find_or_make(&mut tx, name).await?;
        let team = self.set_members(&mut tx, id, auth).await?;
        tx.commit().await?;
        self.show(ShownChange::TeamChanged(team.id));
        Ok((team, is_new))
    }

    /// Stores the team's members, sealed. The row must be there: what is sealed is bound to its id.
    async fn set_members(&self, tx: &mut Tx, id: i64, auth: &Value) -> Result<Team> {
        let sealed = self
            .sealer()
            .seal(&sealed_as(id), auth.to_string().as_bytes());
        let row: Row = query_as(sql!(
            "UPDATE teams SET auth = $1 WHERE id = $2 RETURNING id, name, admin, auth"
        ))
        .bind(sealed)
        .bind(id)
        .fetch_one(tx)
        .await?;
        team(self.sealer(), row)
    }

    /// Gives a team another name, which no other team may have.
    pub async fn rename_team(&self, id: TeamId, name: &str) -> Result<()> {
        let mut tx = self.write.begin(here!()).await?;
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
        query(sql!(
            "UPDATE agent_tokens SET team = $1 WHERE team = (SELECT name FROM teams WHERE id = $2)"
        ))
        .bind(name)
        .bind(id.0)
        .execute(&mut tx)
        .await?;
        query(sql!("UPDATE teams SET name = $1 WHERE id = $2"))
            .bind(name)
            .bind(id.0)
            .execute(&mut tx)
            .await?;
        tx.commit().await?;
        self.show(ShownChange::TeamChanged(id));
        Ok(())
    }

    /// Removes a team with its pipelines and builds. A team that administers stays: `false`.
    pub async fn destroy_team(&self, id: TeamId) -> Result<bool> {
        let mut tx = self.write.begin(here!()).await?;
        query(sql!(
            "DELETE FROM agent_tokens
             WHERE team = (SELECT name FROM teams WHERE id = $1 AND NOT admin)"
        ))
        .bind(id.0)
        .execute(&mut tx)
        .await?;
        let gone = query(sql!("DELETE FROM teams WHERE id = $1 AND NOT admin"))
            .bind(id.0)
            .execute(&mut tx)
            .await?;
        tx.commit().await?;
        self.show(ShownChange::TeamChanged(id));
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
}

#[cfg(test)]
mod tests;
