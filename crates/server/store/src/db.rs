//! One face for both databases: the same statements, bound and read the same way.
//!
//! ```text
//! sql!("…") ─▶ query(..).bind(..) ─▶ fetch on a Pool or in a Tx ─▶ SQLite | Postgres
//! ```
//!
//! Everything that differs between the two is in this folder: connecting, migrating, beginning a
//! transaction, telling others of a change. Nothing here knows what a pipeline is.

mod many;
mod packed;
mod postgres;
mod purpose;
mod query;
mod sql;
mod sqlite;
mod url;

use airside_telemetry::span;
use sqlx::{PgPool, Postgres, Sqlite, SqlitePool, Transaction};
use tracing::{Instrument as _, Span};

pub(crate) use many::{execute_for, fetch_for, insert};
pub(crate) use packed::{Fields, Unpack, fetch_packed, field, packed};
pub use purpose::Purpose;
pub(crate) use purpose::here;
pub(crate) use query::{On, Value, query, query_as, query_scalar};
#[cfg(test)]
pub(crate) use sql::STATEMENTS;
pub(crate) use sql::{Sql, sql};
pub use url::{DatabaseUrl, DatabaseUrlError};

use crate::{Error, Result};

/// Connections to one database. Clones share them.
#[derive(Clone)]
pub(crate) enum Pool {
    Sqlite(SqlitePool),
    Postgres(PgPool),
}

/// A transaction that may write. Dropped without [`Tx::commit`], it never happened. Its span ends
/// with it.
pub(crate) enum Tx {
    Sqlite(Transaction<'static, Sqlite>, Begun),
    Postgres(Transaction<'static, Postgres>, Begun),
}

/// The span of a transaction, and the function that began it.
#[derive(Clone)]
pub(crate) struct Begun {
    span: Span,
    function: &'static str,
}

/// The longest wait for a database that is locked or away before a request fails.
#[derive(Clone, Copy, Debug)]
pub struct DatabaseTimeout(pub std::time::Duration);

impl Default for DatabaseTimeout {
    fn default() -> Self {
        Self(std::time::Duration::from_secs(15))
    }
}

/// Connections for writing and for reading; the same connections on Postgres.
pub(crate) struct Pools {
    pub(crate) write: Pool,
    pub(crate) read: Pool,
}

pub(crate) async fn connect(url: DatabaseUrl, patience: DatabaseTimeout) -> Result<Pools> {
    match &url {
        DatabaseUrl::Sqlite(path) => sqlite::connect(path, patience).await,
        DatabaseUrl::Postgres(url) => postgres::connect(url, patience).await,
    }
}

/// The pages of a database that is a file.
pub(crate) struct Space {
    pub(crate) pages: u64,
    /// The pages that hold nothing.
    pub(crate) free: u64,
}

/// Returns the pages of the database, or `None` if another server keeps its files.
pub(crate) async fn space(pool: &Pool) -> Result<Option<Space>> {
    match pool {
        Pool::Sqlite(pool) => Ok(Some(
            sqlite::space(pool)
                .await
                .map_err(failed_to("count the pages of the database", here!()))?,
        )),
        Pool::Postgres(_) => Ok(None),
    }
}

/// Gives up to so many unused pages back to the disk; how many it were.
pub(crate) async fn shrink(pool: &Pool, pages: u64) -> Result<u64> {
    match pool {
        Pool::Sqlite(pool) => {
            let shrunk = sqlite::shrink(pool, pages).await;
            shrunk.map_err(failed_to("shrink the database's file", here!()))
        }
        Pool::Postgres(_) => Ok(0),
    }
}

pub use postgres::Alone;
pub(crate) use postgres::{Listener, listen};

impl Pool {
    /// Begins a transaction for the function that [`here!`] names.
    pub(crate) async fn begin(&self, function: &'static str) -> Result<Tx> {
        let span = span!(
            "transaction",
            otel.kind = "client",
            db.system.name = self.system()
        );
        let begun = match self {
            Self::Sqlite(pool) => sqlite::begin(pool)
                .instrument(span.clone())
                .await
                .map(|tx| Tx::Sqlite(tx, Begun { span, function })),
            Self::Postgres(pool) => postgres::begin(pool)
                .instrument(span.clone())
                .await
                .map(|tx| Tx::Postgres(tx, Begun { span, function })),
        };
        begun.map_err(failed_to("begin a transaction", function))
    }

    /// Returns the database system's name in OpenTelemetry.
    fn system(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "sqlite",
            Self::Postgres(_) => "postgresql",
        }
    }

    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(pool) => pool.close().await,
            Self::Postgres(pool) => pool.close().await,
        }
    }
}

impl Tx {
    pub(crate) async fn commit(self) -> Result<()> {
        let (committed, function) = match self {
            Self::Sqlite(tx, begun) => (tx.commit().instrument(begun.span).await, begun.function),
            Self::Postgres(tx, begun) => (tx.commit().instrument(begun.span).await, begun.function),
        };
        committed.map_err(|source| Error::Uncertain {
            purpose: Purpose::new("commit a transaction", function),
            source,
        })
    }
}

/// Says of a failed call of the database's driver what it was for.
pub(crate) fn failed_to(
    action: &'static str,
    function: &'static str,
) -> impl FnOnce(sqlx::Error) -> Error {
    move |source| Error::Sql {
        purpose: Purpose::new(action, function),
        source,
    }
}

/// Returns true if the database was locked, away or too busy, so that trying again later makes
/// sense.
pub(crate) fn is_transient(error: &sqlx::Error) -> bool {
    match error {
        _ if is_out_of_space(error) => false,
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::WorkerCrashed => true,
        sqlx::Error::Database(error) => error.code().is_some_and(|code| is_transient_code(&code)),
        _ => false,
    }
}

pub(crate) fn is_out_of_space(error: &sqlx::Error) -> bool {
    /// SQLite: the disk is full, and the index of its log cannot grow. Postgres: the disk is full.
    const FULL: [&str; 3] = ["13", "4874", "53100"];
    match error {
        sqlx::Error::Io(error) => error.kind() == std::io::ErrorKind::StorageFull,
        sqlx::Error::Database(error) => error.code().is_some_and(|code| FULL.contains(&&*code)),
        _ => false,
    }
}

fn is_transient_code(code: &str) -> bool {
    /// SQLite: busy and locked, and what they are called in detail.
    const LOCKED: [&str; 7] = ["5", "6", "261", "262", "517", "518", "773"];
    /// Postgres: too many clients, not taking connections.
    const AWAY: [&str; 2] = ["53300", "55000"];
    // Postgres: shutting down or starting up, connection lost.
    LOCKED.contains(&code)
        || AWAY.contains(&code)
        || code.starts_with("57P0")
        || code.starts_with("08")
}

pub(crate) fn opening(shown: &str) -> impl Fn(sqlx::Error) -> Error + use<> {
    let path = shown.to_owned();
    move |source| Error::Open {
        path: path.clone(),
        source,
    }
}
