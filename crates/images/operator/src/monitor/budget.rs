//! Budgets: a rate of requests for each registry, shared by all sets, and the pause that a registry
//! asks for.

use std::{
    collections::HashMap,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use airside_resource_types::RequestPause;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

/// Number of questions to one registry at once.
const AT_ONCE: usize = 4;
/// The longest that a registry is left alone because it asked for it.
pub(super) const MAX_PAUSE: Duration = Duration::from_secs(3600);
const SECOND: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    pub per_second: f64,
    pub burst: f64,
}

impl Default for Rate {
    fn default() -> Self {
        Self {
            per_second: 10.0,
            burst: 40.0,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Budgets {
    rate: Rate,
    hosts: Mutex<HashMap<String, Host>>,
}

#[derive(Debug)]
struct Host {
    tokens: f64,
    at: Instant,
    closed_until: Option<Instant>,
    doors: Arc<Semaphore>,
}

impl Budgets {
    pub(crate) fn new(rate: Rate) -> Self {
        Self {
            rate,
            hosts: Mutex::default(),
        }
    }

    fn with<T>(&self, host: &str, now: Instant, action: impl FnOnce(&mut Host) -> T) -> T {
        let mut hosts = self.hosts.lock();
        let entry = hosts.entry(host.to_owned());
        action(entry.or_insert_with(|| Host {
            tokens: self.rate.burst,
            at: now,
            closed_until: None,
            doors: Arc::new(Semaphore::new(AT_ONCE)),
        }))
    }

    /// Takes one request, or says how long to wait for it.
    fn take(&self, host: &str, now: Instant) -> Result<(), Duration> {
        let rate = self.rate;
        self.with(host, now, |host| {
            let gained = now.saturating_duration_since(host.at).as_secs_f64() * rate.per_second;
            host.tokens = (host.tokens + gained).min(rate.burst);
            host.at = host.at.max(now);
            if host.tokens < 1.0 {
                let turns = (1.0 - host.tokens) / rate.per_second;
                return Err(airside_model::scale_duration(SECOND, turns));
            }
            host.tokens -= 1.0;
            Ok(())
        })
    }

    /// Sends no requests to the registry for this long.
    pub(crate) fn close(&self, host: &str, now: Instant, wait: Duration) {
        let until = airside_model::deadline_after(now, wait.min(MAX_PAUSE));
        self.with(host, now, |host| {
            host.closed_until = Some(host.closed_until.map_or(until, |before| before.max(until)));
        });
    }

    /// Returns the rest of the pause that the registry asked for.
    pub(crate) fn closed_for(&self, host: &str, now: Instant) -> Option<Duration> {
        self.with(host, now, |host| {
            host.closed_until = host.closed_until.filter(|until| *until > now);
            host.closed_until.map(|until| until - now)
        })
    }

    pub(crate) fn doors(&self, host: &str) -> Arc<Semaphore> {
        self.with(host, Instant::now(), |host| host.doors.clone())
    }

    /// Waits, on a thread that may, before each request.
    pub(crate) fn pace(self: &Arc<Self>, host: &str) -> RequestPause {
        let (budgets, host) = (self.clone(), host.to_owned());
        RequestPause::new(move || {
            while let Err(wait) = budgets.take(&host, Instant::now()) {
                thread::sleep(wait);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate {
        per_second: 2.0,
        burst: 3.0,
    };

    #[test]
    fn a_burst_and_then_so_many_a_second_for_each_host() {
        let (budgets, start) = (Budgets::new(RATE), Instant::now());
        for _ in 0..3 {
            budgets.take("a", start).unwrap();
        }
        assert_eq!(budgets.take("a", start), Err(Duration::from_millis(500)));
        budgets.take("b", start).unwrap();
        let later = start + Duration::from_millis(500);
        budgets.take("a", later).unwrap();
        assert!(budgets.take("a", later).is_err());
        let much_later = start + Duration::from_secs(1000);
        for _ in 0..3 {
            budgets.take("a", much_later).unwrap();
        }
        assert!(
            budgets.take("a", much_later).is_err(),
            "no more than a burst is saved"
        );
    }

    #[test]
    fn a_registry_that_asks_for_it_is_left_alone() {
        let (budgets, start) = (Budgets::new(RATE), Instant::now());
        let seconds = Duration::from_secs;
        budgets.close("a", start, seconds(30));
        budgets.close("a", start, seconds(10));
        assert_eq!(budgets.closed_for("a", start), Some(seconds(30)));
        assert_eq!(budgets.closed_for("b", start), None);
        assert_eq!(budgets.closed_for("a", start + seconds(30)), None);
        budgets.close("a", start, seconds(1 << 40));
        assert_eq!(
            budgets.closed_for("a", start),
            Some(MAX_PAUSE),
            "not for ever"
        );
    }
}
