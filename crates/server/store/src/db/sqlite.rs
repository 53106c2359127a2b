//! SQLite: one file, one writer, several readers.

use std::{fs::File, path::Path};

use airside_model::chain;
use sqlx::{
    ConnectOptions, Connection, Sqlite, SqlitePool, Transaction,
    sqlite::{
        SqliteAutoVacuum, SqliteConnectOptions, SqliteConnection, SqliteJournalMode,
        SqlitePoolOptions, SqliteSynchronous,
    },
};
use tracing::{info, warn};

use super::{DatabaseTimeout, Pool, Pools, Space, failed_to, here, opening};
use crate::{Error, Result};

const READERS: u32 = 4;
/// Rows that a connection's thread may be ahead of its reader: with few, the two wake each other up
/// all the time.
const BUFFERED: usize = 1024;
/// The log beside the file is cut back to this once what is in it has been taken over.
const LOG_BYTES: &str = "67108864";
/// The number of `SqliteAutoVacuum::Incremental` in the file.
const INCREMENTAL: i64 = 2;

pub(super) async fn connect(path: &Path, patience: DatabaseTimeout) -> Result<Pools> {
    let shown = path.display().to_string();
    let failed = opening(&shown);
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .pragma("journal_size_limit", LOG_BYTES)
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
    let locked = airside_tasks::blocking("lock of the database", move || {
        let file = File::create(lock)?;
        file.lock()?;
        Ok::<_, std::io::Error>(file)
    });
    let _lock = locked
        .await
        .map_err(|_| Error::corrupt("the lock of the database"))?
        .map_err(|error| failed(sqlx::Error::Io(error)))?;
    let unlinked = options
        .clone()
        .foreign_keys(false)
        // Of a new file: pages that are free can be given back to the disk.
        .auto_vacuum(SqliteAutoVacuum::Incremental);
    let mut connection = unlinked.connect().await.map_err(&failed)?;
    sqlx::migrate!("migrations/sqlite")
        .run_direct(None, &mut connection, false)
        .await?;
    if let Err(error) = make_shrinkable(&mut connection).await {
        warn!(error = %chain(&error), "database file not made shrinkable; it is tried again at the next start");
    }
    let closed = connection.close().await;
    closed.map_err(failed_to("close the database after its migration", here!()))
}

/// A file from before is written anew, once: only then can pages be taken out of it.
async fn make_shrinkable(connection: &mut SqliteConnection) -> sqlx::Result<()> {
    let mode: i64 = sqlx::query_scalar("PRAGMA auto_vacuum")
        .fetch_one(&mut *connection)
        .await?;
    if mode == INCREMENTAL {
        return Ok(());
    }
    info!("database file rewritten once, so that it can shrink from now on");
    sqlx::raw_sql("PRAGMA auto_vacuum = INCREMENTAL; VACUUM")
        .execute(connection)
        .await?;
    Ok(())
}

pub(super) async fn space(pool: &SqlitePool) -> sqlx::Result<Space> {
    let mut connection = pool.acquire().await?;
    let pages: i64 = sqlx::query_scalar("PRAGMA page_count")
        .fetch_one(&mut *connection)
        .await?;
    let free: i64 = sqlx::query_scalar("PRAGMA freelist_count")
        .fetch_one(&mut *connection)
        .await?;
    Ok(Space {
        pages: u64::try_from(pages).unwrap_or(0),
        free: u64::try_from(free).unwrap_or(0),
    })
}

/// The pragma takes a page out each time it is stepped, so all its rows are read.
pub(super) async fn shrink(pool: &SqlitePool, pages: u64) -> sqlx::Result<u64> {
    let before = space(pool).await?.pages;
    let text = format!("PRAGMA incremental_vacuum({pages})");
    sqlx::raw_sql(sqlx::AssertSqlSafe(text))
        .fetch_all(pool)
        .await?;
    Ok(before.saturating_sub(space(pool).await?.pages))
}
