//! Waiting for conditions. Nothing in a test waits for a time to pass.

use std::{
    thread,
    time::{Duration, Instant},
};

/// Longer than anything takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

const BETWEEN: Duration = Duration::from_millis(5);

/// Waits until the condition holds.
#[track_caller]
pub fn wait_until(what: &str, condition: impl FnMut() -> bool) {
    let mut condition = condition;
    wait_for(what, || condition().then_some(()));
}

/// Waits until there is something, and gives it.
#[track_caller]
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(
            Instant::now() < deadline,
            "waited {PATIENCE:?} in vain: {what}"
        );
        thread::sleep(BETWEEN);
    }
}
