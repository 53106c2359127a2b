//! The database: what must survive a crash, and the transactions that keep it consistent.
//!
//! SQL lives here and nowhere else, written so that SQLite and Postgres both take it (numbered
//! placeholders, `ON CONFLICT`, `RETURNING`; no database functions). One writer connection, several
//! readers. Callers see plain structs and enums, never rows. No secret is stored in clear: what a
//! resumed step needs passes through [`Sealer`] first, tokens are kept as hashes.

mod builds;
mod containers;
mod nodes;
mod pipelines;
mod sealer;
mod settings;
mod teams;
mod time;
mod tokens;
mod versions;
mod volumes;
mod workers;

use std::{path::Path, str::FromStr, time::Duration};

use sqlx::{
    SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use tokio::sync::watch;

pub use builds::{Build, BuildFilter, BuildPage, Lease, NewBuild};
pub use containers::{Claimant, Container, ContainerFilter, NewPlacement};
pub use pipelines::{Job, Pipeline, Resource, SavePipeline, Saved};
pub use sealer::{SealError, Sealer};
pub use teams::Team;
pub use time::{Micros, now};
pub use volumes::Volume;
pub use workers::Worker;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot open the database {path}")]
    Open { path: String, source: sqlx::Error },
    #[error("cannot bring the database up to date")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    #[error("the database refused")]
    Sql(#[from] sqlx::Error),
    #[error("the database holds what cannot be read: {what}")]
    Corrupt { what: String },
    #[error("the configuration was changed by somebody else: it is at version {current:?} now")]
    ConfigVersion { current: Option<i64> },
    #[error("another server drives build {build} now")]
    Fenced { build: airside_model::BuildId },
    #[error(transparent)]
    Seal(#[from] SealError),
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A handle on the database; clones share it.
#[derive(Clone)]
pub struct Store {
    write: SqlitePool,
    read: SqlitePool,
    sealer: Sealer,
    changes: watch::Sender<u64>,
}

impl Store {
    /// Opens (or makes) the database in one file and brings its schema up to date.
    pub async fn open(path: &Path, sealer: Sealer) -> Result<Self> {
        let failed = |source| Error::Open {
            path: path.display().to_string(),
            source,
        };
        let url = format!("sqlite://{}", path.display());
        let options = SqliteConnectOptions::from_str(&url)
            .map_err(failed)?
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(Duration::from_secs(10));
        let write = SqlitePoolOptions::new()
            .max_connections(1)
            .connect_with(options.clone())
            .await
            .map_err(failed)?;
        sqlx::migrate!("migrations/sqlite").run(&write).await?;
        let read = SqlitePoolOptions::new()
            .max_connections(4)
            .connect_with(options.read_only(true))
            .await
            .map_err(failed)?;
        Ok(Self {
            write,
            read,
            sealer,
            changes: watch::Sender::new(0),
        })
    }

    /// Changes whenever builds change, so that nobody polls the database.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    pub fn sealer(&self) -> &Sealer {
        &self.sealer
    }
}

fn corrupt(what: impl std::fmt::Display) -> Error {
    Error::Corrupt {
        what: what.to_string(),
    }
}

fn from_json<T: serde::de::DeserializeOwned>(text: &str, what: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| corrupt(format!("{what}: {error}")))
}

fn to_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("what we store is always JSON")
}
