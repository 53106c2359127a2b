//! SQLite: one file, one writer, several readers.

use std::{fs::File, path::Path};

use sqlx::{
    ConnectOptions, Connection, Sqlite, SqlitePool, Transaction,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use super::{Patience, Pool, Pools, opening};
use crate::{Error, Result};

const READERS: u32 = 4;
/// Rows that a connection's thread may be ahead of whoever reads them: with few, the two wake each
/// other up all the time.
const BUFFERED: usize = 1024;

pub(super) async fn connect(path: &Path, patience: Patience) -> Result<Pools> {
    let shown = path.display().to_string();
    let failed = opening(&shown);
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .row_buffer_size(BUFFERED)
        .busy_timeout(patience.0);
    migrate(path, &options).await?;
    let write = SqlitePoolOptions::new()
        .max_connections(1)
        .test_before_acquire(false)
        .acquire_timeout(patience.0)
        .connect_with(options.clone())
        .await
        .map_err(&failed)?;
    let read = SqlitePoolOptions::new()
        .max_connections(READERS)
        // A connection to a file does not go away by itself.
        .test_before_acquire(false)
        .acquire_timeout(patience.0)
        .connect_with(options.read_only(true))
        .await
        .map_err(&failed)?;
    Ok(Pools {
        write: Pool::Sqlite(write),
        read: Pool::Sqlite(read),
    })
}

/// Begins a transaction that waits for the file's lock now, where waiting is possible, instead of
/// failing at its first write.
pub(super) async fn begin(pool: &SqlitePool) -> sqlx::Result<Transaction<'static, Sqlite>> {
    const BEGIN: &str = "BEGIN IMMEDIATE";
    match pool.begin_with(BEGIN).await {
        // When the disk is full, SQLite ends the transaction by itself, and the connection goes on
        // counting one that is not there. Another connection knows nothing of it.
        Err(sqlx::Error::InvalidSavePointStatement) => {
            pool.acquire().await?.close().await?;
            pool.begin_with(BEGIN).await
        }
        begun => begun,
    }
}

/// Brings the schema up to date, one process at a time. Foreign keys are off meanwhile: a table is
/// changed by making it anew, and what refers to the old one must stay.
async fn migrate(path: &Path, options: &SqliteConnectOptions) -> Result<()> {
    let shown = path.display().to_string();
    let failed = opening(&shown);
    let mut lock = path.as_os_str().to_owned();
    lock.push(".lock");
    let locked = tokio::task::spawn_blocking(move || {
        let file = File::create(lock)?;
        file.lock()?;
        Ok::<_, std::io::Error>(file)
    });
    let _lock = locked
        .await
        .map_err(|_| Error::corrupt("the lock of the database"))?
        .map_err(|error| failed(sqlx::Error::Io(error)))?;
    let unlinked = options.clone().foreign_keys(false);
    let mut connection = unlinked.connect().await.map_err(&failed)?;
    sqlx::migrate!("migrations/sqlite")
        .run_direct(None, &mut connection, false)
        .await?;
    connection.close().await?;
    Ok(())
}
