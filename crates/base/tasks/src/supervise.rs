//! Loops that the program cannot do without.

use parking_lot::Mutex;
use tokio::{task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use crate::{
    caught::{Panicked, caught},
    strikes::{MAX_PANICS, Strikes, WINDOW},
};

/// A loop that panicked too often, so that the program stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "stopped because of a fault in Airside: `{task}` panicked {MAX_PANICS} times within {} seconds, the last time with: {message}. \
     Please report this with the log's lines on it.",
    WINDOW.as_secs()
)]
pub struct GaveUp {
    pub task: &'static str,
    pub message: String,
}

static GAVE_UP: Mutex<Option<GaveUp>> = Mutex::new(None);

/// An error if a supervised loop of this program was given up. Programs ask this when they have
/// stopped, for their exit status.
pub fn verdict() -> Result<(), GaveUp> {
    match &*GAVE_UP.lock() {
        Some(gave_up) => Err(gave_up.clone()),
        None => Ok(()),
    }
}

/// Starts a loop that the program cannot do without. `make` makes it: at once, and again after each
/// panic. Too many panics begin the shutdown, after which [`verdict`] says why.
pub fn supervise<F>(
    name: &'static str,
    shutdown: &CancellationToken,
    make: impl FnMut() -> F + Send + 'static,
) -> JoinHandle<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    let shutdown = shutdown.clone();
    tokio::spawn(async move {
        if let Err(gave_up) = keep_going(name, &shutdown, make).await {
            error!(
                task = name,
                panic = %gave_up.message,
                "task given up: it panicked again and again"
            );
            GAVE_UP.lock().get_or_insert(gave_up);
            shutdown.cancel();
        }
    })
}

/// Starts a loop that starts again after each panic, however many there are, until its handle is
/// aborted. It is for loops of one part, as a worker is, whose faults must not end the others.
pub fn restart<F>(
    name: &'static str,
    mut make: impl FnMut() -> F + Send + 'static,
) -> JoinHandle<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    tokio::spawn(async move {
        let mut strikes = Strikes::default();
        while caught(name, async { make().await }).await.is_err() {
            let pause = strikes.strike(Instant::now()).unwrap_or(WINDOW);
            warn!(task = name, ?pause, "task restarted after a panic");
            tokio::time::sleep(pause).await;
        }
    })
}

async fn keep_going<F>(
    name: &'static str,
    shutdown: &CancellationToken,
    mut make: impl FnMut() -> F,
) -> Result<(), GaveUp>
where
    F: Future<Output = ()>,
{
    let mut strikes = Strikes::default();
    loop {
        let Err(Panicked { message }) = caught(name, async { make().await }).await else {
            return Ok(());
        };
        let pause = strikes.strike(Instant::now());
        let pause = pause.ok_or(GaveUp {
            task: name,
            message,
        })?;
        warn!(task = name, ?pause, "task restarted after a panic");
        let rested = shutdown.run_until_cancelled(tokio::time::sleep(pause));
        if rested.await.is_none() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::Ready,
        sync::{
            Arc,
            atomic::{AtomicU32, Ordering},
        },
    };

    use super::*;

    /// Panics so often, then ends.
    fn flaky(times: u32) -> (Arc<AtomicU32>, impl FnMut() -> Ready<()>) {
        let started = Arc::new(AtomicU32::new(0));
        let counted = started.clone();
        let make = move || {
            assert!(counted.fetch_add(1, Ordering::Relaxed) >= times, "flaky");
            std::future::ready(())
        };
        (started, make)
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_starts_again_after_a_panic() {
        let shutdown = CancellationToken::new();
        let (started, make) = flaky(2);
        supervise("supervise.rs flaky", &shutdown, make)
            .await
            .unwrap();
        assert_eq!(started.load(Ordering::Relaxed), 3);
        assert!(!shutdown.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn too_many_panics_begin_the_shutdown() {
        let shutdown = CancellationToken::new();
        let (started, make) = flaky(9);
        supervise("supervise.rs broken", &shutdown, make)
            .await
            .unwrap();
        assert_eq!(started.load(Ordering::Relaxed), 3);
        assert!(shutdown.is_cancelled());
        let said = verdict().unwrap_err().to_string();
        assert!(
            said.contains("`supervise.rs broken` panicked 3 times"),
            "{said}"
        );
        assert!(said.contains("flaky"), "{said}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_part_starts_again_however_often_it_panics() {
        let (started, make) = flaky(9);
        restart("supervise.rs part", make).await.unwrap();
        assert_eq!(started.load(Ordering::Relaxed), 10);
    }

    #[tokio::test]
    async fn a_shutdown_ends_the_rest_before_a_start() {
        let shutdown = CancellationToken::new();
        let (started, make) = flaky(9);
        shutdown.cancel();
        supervise("supervise.rs stopped", &shutdown, make)
            .await
            .unwrap();
        assert_eq!(started.load(Ordering::Relaxed), 1);
    }
}
