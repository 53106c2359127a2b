//! Doing something again that the database was away for. A statement that was under way when the
//! connection broke fails at once; what drives a build must not be lost for that.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::{Error, Result, Store};

/// Between one try and the next.
const PAUSE: Duration = Duration::from_millis(100);

/// What may be done again after a transaction that may or may not have been committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Twice {
    /// Doing it a second time changes nothing.
    Same,
    /// It would happen a second time.
    Another,
}

impl Store {
    /// Waits for a database that is away, as long as patience lasts.
    pub(crate) async fn patiently<T>(
        &self,
        twice: Twice,
        work: impl AsyncFn() -> Result<T>,
    ) -> Result<T> {
        let deadline = Instant::now() + self.patience.0;
        loop {
            let done = work().await;
            let Err(error) = &done else { return done };
            let lost = matches!(error, Error::Uncertain(_)) && twice == Twice::Another;
            if lost || !error.is_transient() || Instant::now() >= deadline {
                return done;
            }
            tracing::debug!(%error, "the database is away; trying again");
            sleep(PAUSE).await;
        }
    }
}
