//! Requests to stop: the first aborts, the second ends at once.

use anyhow::Result;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The two ways to stop a run.
pub(crate) struct Stop {
    pub(crate) asked: CancellationToken,
    pub(crate) at_once: CancellationToken,
}

impl Stop {
    /// Returns a stop for one run of several: stopping all stops it, and not the other way round.
    pub(crate) fn for_one_run(&self) -> Self {
        Self {
            asked: self.asked.child_token(),
            at_once: self.at_once.clone(),
        }
    }

    /// Ctrl-C, SIGTERM, and the terminal that goes away.
    pub(crate) fn on_signals() -> Result<Self> {
        let stop = Self {
            asked: CancellationToken::new(),
            at_once: CancellationToken::new(),
        };
        let (asked, at_once) = (stop.asked.clone(), stop.at_once.clone());
        let (mut int, mut term, mut hangup) = (
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
        );
        airside_tasks::spawn("signals", async move {
            loop {
                tokio::select! {
                    _ = int.recv() => {}
                    _ = term.recv() => {}
                    _ = hangup.recv() => {}
                }
                if asked.is_cancelled() {
                    return at_once.cancel();
                }
                crate::printing::tell(
                    "airside: stopping; press Ctrl-C again to end running builds at once",
                );
                asked.cancel();
            }
        });
        Ok(stop)
    }
}
