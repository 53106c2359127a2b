//! Spreads checks over their interval, so that thousands of resources with the same interval are
//! not checked in the same second, whenever they were set or the server was started.
//!
//! Time is a grid whose lines are a *window* apart; each resource has a place between two lines, by
//! its id. A check moves to that place, by half a window at most. The window fits into the interval
//! a whole number of times, so from then on checks come exactly an interval apart.

use std::time::Duration;

/// Maximum window; a check is moved by at most half of it.
const MAX_WINDOW: Duration = Duration::from_secs(60);

/// Returns the moment near `at` that belongs to the resource. Moments count from the server's
/// start.
pub(crate) fn place(at: Duration, interval: Duration, resource: i64) -> Duration {
    let window = window(interval);
    if window.is_zero() {
        return at;
    }
    let (window, at) = (window.as_nanos(), at.as_nanos());
    let own = share(resource, window);
    let earliest = at.saturating_sub(window / 2);
    let moved = earliest + (own + window - earliest % window) % window;
    u64::try_from(moved).map_or(Duration::MAX, Duration::from_nanos)
}

/// Returns a part of `whole`, the same for the same resource. It spreads checks that are overdue
/// when the server starts.
pub(crate) fn part(whole: Duration, resource: i64) -> Duration {
    let nanos = share(resource, whole.as_nanos().max(1));
    u64::try_from(nanos).map_or(whole, Duration::from_nanos)
}

fn window(interval: Duration) -> Duration {
    let times = interval.as_nanos().div_ceil(MAX_WINDOW.as_nanos()).max(1);
    interval / u32::try_from(times).unwrap_or(u32::MAX)
}

/// Returns a share of `whole` by the golden section, so that neighbouring ids lie far apart.
fn share(resource: i64, whole: u128) -> u128 {
    let turned = (resource as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (u128::from(turned) * whole) >> 64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn from_the_second_check_on_intervals_hold() {
        for interval in [1, 10, 60, 90, 3600, 86_400].map(seconds) {
            for resource in 0..50 {
                let mut at = place(seconds(1_000_000), interval, resource);
                for _ in 0..5 {
                    let took = Duration::from_millis(3);
                    let next = place(at + took + interval, interval, resource);
                    assert_eq!(next, at + interval, "{interval:?} {resource}");
                    at = next;
                }
            }
        }
    }

    #[test]
    fn nothing_moves_far() {
        for interval in [0, 1, 60, 86_400].map(seconds) {
            for resource in 0..50 {
                let at = seconds(1_000_000);
                let moved = place(at, interval, resource).abs_diff(at);
                assert!(
                    moved <= MAX_WINDOW.min(interval) / 2,
                    "{interval:?} {moved:?}"
                );
            }
        }
        // At the very start nothing can be earlier.
        assert!(place(seconds(0), seconds(60), 7) < seconds(60));
    }

    #[test]
    fn many_are_spread_evenly() {
        let mut counts = [0; 60];
        for resource in 1..=6000 {
            let at = place(seconds(600), seconds(60), resource);
            counts[(at.as_secs() % 60) as usize] += 1;
            assert!(part(seconds(60), resource) < seconds(60));
        }
        assert!(
            counts.iter().all(|count| (90..=110).contains(count)),
            "{counts:?}"
        );
    }
}
