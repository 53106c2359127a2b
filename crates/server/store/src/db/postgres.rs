//! Postgres: a server that several of us may share, which also carries word of changes.

use std::{str::FromStr, sync::Arc, time::Duration};

use airside_model::chain;
use sqlx::{
    Connection, PgConnection, PgPool, Postgres, Transaction,
    pool::PoolConnection,
    postgres::{PgConnectOptions, PgListener, PgPoolOptions},
};
use tokio::{
    sync::Mutex,
    time::{Instant, sleep},
};
use tracing::{debug, warn};

use super::{DatabaseTimeout, Pool, Pools, failed_to, here, opening};
use crate::{Error, Result};

const CONNECTIONS: u32 = 16;
/// Pause between two tries to reach a server that is away.
const PAUSE: Duration = Duration::from_millis(100);
const CHANNEL: &str = "airside_changes";
/// Names the lock of [`Alone`] among advisory locks.
const ALONE: i64 = 0x6169_7273_6964_6501;

pub(super) async fn connect(url: &str, patience: DatabaseTimeout) -> Result<Pools> {
    let options = PgConnectOptions::from_str(url)
        .map_err(opening("that --database-url names"))?
        .application_name("airside");
    let shown = format!(
        "{} on {}",
        options.get_database().unwrap_or("?"),
        options.get_host()
    );
    let pool = PgPoolOptions::new()
        .max_connections(CONNECTIONS)
        .acquire_timeout(patience.0)
        .connect_with(options)
        .await
        .map_err(opening(&shown))?;
    // Takes an advisory lock: of several servers that start at once, one migrates.
    let mut connection = pool.acquire().await.map_err(opening(&shown))?;
    sqlx::migrate!("migrations/postgres")
        .run_direct(None, &mut *connection, false)
        .await?;
    drop(connection);
    Ok(Pools {
        write: Pool::Postgres(pool.clone()),
        read: Pool::Postgres(pool),
    })
}

/// A connection, waiting for a server that is away. (The pool itself waits only for one that
/// refuses connections, not for one whose socket is gone.)
pub(super) async fn acquire(pool: &PgPool) -> sqlx::Result<PoolConnection<Postgres>> {
    patiently(pool, || pool.acquire()).await
}

/// Begins a transaction; no statement was sent yet, so that may be tried again. It begins in a task
/// of its own: a caller that is dropped meanwhile (a request whose client went away) would
/// otherwise give a connection back to the pool in the middle of a transaction, and statements of
/// others on it would never be committed.
pub(super) async fn begin(pool: &PgPool) -> sqlx::Result<Transaction<'static, Postgres>> {
    let pool = pool.clone();
    let begun = airside_tasks::spawn("transaction", async move {
        patiently(&pool, || pool.begin()).await
    });
    begun.await.unwrap_or(Err(sqlx::Error::WorkerCrashed))
}

async fn patiently<T, F>(pool: &PgPool, work: impl Fn() -> F) -> sqlx::Result<T>
where
    F: Future<Output = sqlx::Result<T>>,
{
    let mut tries = Tries::new(pool);
    loop {
        match work().await {
            Err(error) if tries.again(&error).await => {}
            done => return done,
        }
    }
}

/// The time left for trying a call again.
pub(super) struct Tries {
    deadline: Instant,
}

impl Tries {
    pub(super) fn new(pool: &PgPool) -> Self {
        Self {
            deadline: airside_model::deadline_after(
                Instant::now(),
                pool.options().get_acquire_timeout(),
            ),
        }
    }

    /// Returns true if the call should be tried again, after a little while.
    pub(super) async fn again(&mut self, error: &sqlx::Error) -> bool {
        let again = super::is_transient(error) && Instant::now() < self.deadline;
        if again {
            sleep(PAUSE).await;
        }
        again
    }
}

/// Lock of a server that has the database to itself. Ends with the connection.
pub struct Alone(#[allow(dead_code, reason = "kept for as long as it lives")] Option<PgConnection>);

impl Alone {
    pub(crate) async fn take(pool: &Pool) -> Result<Self> {
        let Pool::Postgres(pool) = pool else {
            return Ok(Self(None));
        };
        let connected = PgConnection::connect_with(&pool.connect_options()).await;
        let mut connection = connected.map_err(failed_to("connect to the database", here!()))?;
        let free: bool = sqlx::query_scalar("SELECT pg_try_advisory_lock($1)")
            .bind(ALONE)
            .fetch_one(&mut connection)
            .await
            .map_err(failed_to("lock the database for this server", here!()))?;
        if free {
            Ok(Self(Some(connection)))
        } else {
            Err(Error::InUse)
        }
    }
}

/// Carries word of changes between servers until it is dropped.
pub(crate) struct Listener(Vec<tokio::task::AbortHandle>);

impl Drop for Listener {
    fn drop(&mut self) {
        for task in &self.0 {
            task.abort();
        }
    }
}

/// Notifies other servers whenever `local` changes, and calls `heard` when another one does.
pub(crate) async fn listen(
    pool: Pool,
    local: tokio::sync::watch::Receiver<u64>,
    heard: impl Fn() + Send + Sync + 'static,
) -> Result<Option<Listener>> {
    let Pool::Postgres(pool) = pool else {
        return Ok(None);
    };
    let me = hex::encode(rand::random::<[u8; 8]>());
    let unheard = || failed_to("listen to other servers' changes", here!());
    let mut listener = PgListener::connect_with(&pool).await.map_err(unheard())?;
    listener.listen(CHANNEL).await.map_err(unheard())?;
    let (listener, heard) = (Arc::new(Mutex::new(listener)), Arc::new(heard));
    let hearer = me.clone();
    let receive = airside_tasks::restart("hear other servers", move || {
        receive_changes(listener.clone(), hearer.clone(), heard.clone())
    });
    let announce = airside_tasks::restart("tell other servers", move || {
        announce_changes(pool.clone(), me.clone(), local.clone())
    });
    Ok(Some(Listener(vec![
        receive.abort_handle(),
        announce.abort_handle(),
    ])))
}

async fn receive_changes(listener: Arc<Mutex<PgListener>>, me: String, heard: Arc<impl Fn()>) {
    let mut listener = listener.lock().await;
    loop {
        match listener.try_recv().await {
            Ok(Some(notification)) if notification.payload() == me => {}
            Ok(Some(_)) => heard(),
            // The connection was lost, and with it perhaps some word.
            Ok(None) => heard(),
            Err(error) => {
                debug!(error = %chain(&error), "connection for other servers' changes lost; it is made again");
                tokio::time::sleep(Duration::from_millis(200)).await;
                heard();
            }
        }
    }
}

/// One notification for all changes since the last: a burst costs little.
async fn announce_changes(pool: PgPool, me: String, mut local: tokio::sync::watch::Receiver<u64>) {
    while local.changed().await.is_ok() {
        let told = sqlx::query("SELECT pg_notify($1, $2)")
            .bind(CHANNEL)
            .bind(&me)
            .execute(&pool)
            .await;
        if let Err(error) = told {
            warn!(error = %chain(&error), "change not announced to other servers; it is tried again");
            tokio::time::sleep(Duration::from_millis(200)).await;
            local.mark_changed();
        }
    }
}
