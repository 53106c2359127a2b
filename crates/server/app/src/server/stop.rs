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
