//! Doing something again that the database was away for. A statement that was under way when the
//! connection broke fails at once; what drives a build must not be lost for that.

use std::time::Duration;

use airside_model::chain;
use tokio::time::{Instant, sleep};

use crate::{Error, Store};

/// Pause between two tries.
const PAUSE: Duration = Duration::from_millis(100);

/// The effect of repeating a transaction that may or may not have been committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Twice {
    /// Doing it a second time changes nothing.
    Same,
    /// The effect would happen a second time.
    Another,
}

pub(crate) struct Tries {
    twice: Twice,
    deadline: Instant,
}

impl Tries {
    /// Returns true if the call should be tried again, after a little while.
    pub(crate) async fn again(&mut self, error: &Error) -> bool {
        let done = matches!(error, Error::Uncertain { .. }) && self.twice == Twice::Another;
        if done || !error.is_transient() || Instant::now() >= self.deadline {
            return false;
        }
        tracing::debug!(error = %chain(&error), "database call failed; it is tried again");
        sleep(PAUSE).await;
        true
    }
}

impl Store {
    pub(crate) fn tries(&self, twice: Twice) -> Tries {
        Tries {
            twice,
            deadline: airside_model::deadline_after(Instant::now(), self.patience.0),
        }
    }
}

/// Runs the block, and again for as long as the database is away and patience lasts. (A function
/// that takes an async closure would be no macro, but the compiler cannot see that its future may
/// be sent.)
macro_rules! patiently {
    ($store:expr, $twice:ident, $body:block) => {{
        let mut tries = $store.tries($crate::patience::Twice::$twice);
        loop {
            let done: $crate::Result<_> = async $body.await;
            match done {
                Err(error) if tries.again(&error).await => {}
                done => break done,
            }
        }
    }};
}
pub(crate) use patiently;
