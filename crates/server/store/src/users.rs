//! Users who have logged in, each with the time of the last login.

use crate::{
    Micros, Result, Store,
    db::{query, query_as, sql},
    now,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub id: i64,
    pub sub: String,
    pub username: String,
    pub connector: String,
    pub last_login: Micros,
}

type Row = (i64, String, String, String, i64);

fn user((id, sub, username, connector, last_login): Row) -> User {
    User {
        id,
        sub,
        username,
        connector,
        last_login: Micros(last_login),
    }
}

impl Store {
    /// Records that a user logged in just now.
    pub async fn user_logged_in(&self, sub: &str, username: &str, connector: &str) -> Result<()> {
        query(sql!(
            "INSERT INTO users (sub, username, connector, last_login) VALUES ($1, $2, $3, $4)
             ON CONFLICT (sub) DO UPDATE SET username = excluded.username,
               connector = excluded.connector, last_login = excluded.last_login"
        ))
        .bind(sub)
        .bind(username)
        .bind(connector)
        .bind(now().0)
        .execute(&self.write)
        .await?;
        Ok(())
    }

    pub async fn users_since(&self, since: Micros) -> Result<Vec<User>> {
        let rows: Vec<Row> = query_as(sql!(
            "SELECT id, sub, username, connector, last_login FROM users
             WHERE last_login >= $1 ORDER BY id"
        ))
        .bind(since.0)
        .fetch_all(&self.read)
        .await?;
        Ok(rows.into_iter().map(user).collect())
    }
}
