//! Waiting for conditions. Nothing in a test waits for a time to pass.

use std::{
    thread,
    time::{Duration, Instant},
};

/// Longer than anything takes on a busy machine, also what is made of several pods.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(180);

/// Shortest pause between two looks. After a look that took long the pause is as long, up to a
/// second: the wait must not take the time of what it waits for.
const BETWEEN: Duration = Duration::from_millis(5);
const AT_MOST: Duration = Duration::from_secs(1);

/// Waits until the condition holds.
#[track_caller]
pub fn wait_until(what: &str, condition: impl FnMut() -> bool) {
    let mut condition = condition;
    wait_for(what, || condition().then_some(()));
}

/// Waits until there is something, and gives it.
#[track_caller]
pub fn wait_for<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    wait(what, look, |took| took.clamp(BETWEEN, AT_MOST))
}

/// Waits for something that is there for a moment only, with looks that cost next to nothing.
#[track_caller]
pub fn wait_for_glimpse<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    wait(what, look, |_| BETWEEN)
}

#[track_caller]
fn wait<T>(
    what: &str,
    mut look: impl FnMut() -> Option<T>,
    pause: impl Fn(Duration) -> Duration,
) -> T {
    let deadline = Instant::now() + WAIT_TIMEOUT;
    loop {
        let begun = Instant::now();
        if let Some(found) = look() {
            return found;
        }
        let took = begun.elapsed();
        assert!(
            Instant::now() < deadline,
            "waited {WAIT_TIMEOUT:?} in vain: {what}"
        );
        thread::sleep(pause(took));
    }
}
