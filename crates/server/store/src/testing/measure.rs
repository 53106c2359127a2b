//! The size of a database, table by table and in bytes.

use std::collections::BTreeMap;

use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection};

use super::TestDatabase;
use crate::DatabaseUrl;

impl TestDatabase {
    /// Every table, with the number of its rows.
    pub async fn rows(&self) -> BTreeMap<String, i64> {
        let mut rows = BTreeMap::new();
        for table in self.tables().await {
            let counted = self.number(&format!("SELECT count(*) FROM {table}")).await;
            rows.insert(table, counted);
        }
        rows
    }

    /// Returns the size on disk, once free pages were given back as far as the database does that
    /// by itself.
    pub async fn bytes(&self) -> u64 {
        let bytes = match &self.url {
            DatabaseUrl::Sqlite(path) => {
                self.number("PRAGMA wal_checkpoint(TRUNCATE)").await;
                return std::fs::metadata(path).expect("the file is there").len();
            }
            DatabaseUrl::Postgres(url) => {
                let mut connection = PgConnection::connect(url).await.expect("Postgres answers");
                sqlx::raw_sql("VACUUM")
                    .execute(&mut connection)
                    .await
                    .expect("Postgres obeys");
                self.number("SELECT pg_database_size(current_database())")
                    .await
            }
        };
        u64::try_from(bytes).expect("no size is negative")
    }

    async fn tables(&self) -> Vec<String> {
        let text = match &self.url {
            DatabaseUrl::Sqlite(_) => {
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            }
            DatabaseUrl::Postgres(_) => {
                "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'"
            }
        };
        let rows = match &self.url {
            DatabaseUrl::Sqlite(_) => {
                let mut connection = self.sqlite_connection().await;
                sqlx::query_scalar(text).fetch_all(&mut connection).await
            }
            DatabaseUrl::Postgres(url) => {
                let mut connection = PgConnection::connect(url).await.expect("Postgres answers");
                sqlx::query_scalar(text).fetch_all(&mut connection).await
            }
        };
        rows.expect("the database answers")
    }

    async fn number(&self, text: &str) -> i64 {
        let text = AssertSqlSafe(text.to_owned());
        let number = match &self.url {
            DatabaseUrl::Sqlite(_) => {
                let mut connection = self.sqlite_connection().await;
                sqlx::query_scalar(text).fetch_one(&mut connection).await
            }
            DatabaseUrl::Postgres(url) => {
                let mut connection = PgConnection::connect(url).await.expect("Postgres answers");
                sqlx::query_scalar(text).fetch_one(&mut connection).await
            }
        };
        number.expect("the database answers")
    }

    async fn sqlite_connection(&self) -> SqliteConnection {
        let DatabaseUrl::Sqlite(path) = &self.url else {
            panic!("only a file is opened");
        };
        let options = sqlx::sqlite::SqliteConnectOptions::new()
            .filename(path)
            .busy_timeout(std::time::Duration::from_secs(15));
        SqliteConnection::connect_with(&options)
            .await
            .expect("the file opens")
    }
}
