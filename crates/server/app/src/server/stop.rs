//! Signals that stop the server or make it read files again.

use anyhow::Result;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// The exit status of a process that a signal ended, as shells count.
const BY_SIGNAL: i32 = 128;

/// Returns a stream of SIGHUPs, which ask to read files again. From here on the signal does not end
/// the process.
pub(crate) fn on_hangup() -> Result<Signal> {
    Ok(signal(SignalKind::hangup())?)
}

/// The containers that a stopped server leaves on workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LeftContainers {
    /// True if a step goes on.
    pub(crate) running: bool,
    /// Number of those whose steps have ended, and that stay for intercepts.
    pub(crate) kept: usize,
}

/// Logs the end of the server, and what it leaves.
pub(crate) fn report_end(left: &LeftContainers) {
    match *left {
        LeftContainers { running: true, .. } => {
            info!("server stopped; running steps go on and are followed again at the next start");
        }
        LeftContainers { kept: 0, .. } => info!("server stopped"),
        LeftContainers { kept, .. } => info!(
            kept,
            "server stopped; containers of ended builds stay a while for intercepts; on this \
             machine `airside clean --stopped` removes them"
        ),
    }
}

/// The first SIGTERM or SIGINT asks for an orderly end, the second does not wait for it.
pub(crate) fn on_signals(shutdown: CancellationToken) -> Result<()> {
    let (mut term, mut int) = (
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    );
    airside_tasks::spawn("signals", async move {
        tokio::select! { _ = term.recv() => {}, _ = int.recv() => {} }
        info!("server stopping; the same signal again ends it at once");
        shutdown.cancel();
        let kind = tokio::select! {
            _ = term.recv() => SignalKind::terminate(),
            _ = int.recv() => SignalKind::interrupt(),
        };
        warn!("server ended at once");
        // Everything that must last is on disk already: a crash would be no different.
        #[expect(clippy::exit, reason = "the second signal asks for just that")]
        std::process::exit(BY_SIGNAL + kind.as_raw_value());
    });
    Ok(())
}
