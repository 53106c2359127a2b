//! Answers of managers, kept for a while in memory.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use airside_secret_managers::Secret;
use parking_lot::Mutex;

/// Most secrets in the cache: with more, all are forgotten. No installation has this many in use.
const MAX_CACHED_SECRETS: usize = 100_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheOptions {
    /// Lifetime of a value; shorter if its lease says so.
    pub found: Duration,
    /// Lifetime of the answer that there is no value.
    pub not_found: Duration,
    /// The time between two removals of values that are no longer good.
    pub purge: Duration,
}

impl Default for CacheOptions {
    fn default() -> Self {
        Self {
            found: Duration::from_secs(60),
            not_found: Duration::from_secs(10),
            purge: Duration::from_secs(600),
        }
    }
}

pub(crate) struct Cache {
    options: CacheOptions,
    state: Mutex<State>,
}

struct State {
    by_path: HashMap<String, (Option<Secret>, Instant)>,
    purged: Instant,
}

impl Cache {
    pub(crate) fn new(options: CacheOptions) -> Self {
        Self {
            options,
            state: Mutex::new(State {
                by_path: HashMap::new(),
                purged: Instant::now(),
            }),
        }
    }

    /// Returns the answer about a path, if it is still good.
    pub(crate) fn find(&self, path: &str, now: Instant) -> Option<Option<Secret>> {
        let state = self.state.lock();
        let (said, until) = state.by_path.get(path)?;
        (*until > now).then(|| said.clone())
    }

    pub(crate) fn keep(&self, path: &str, said: &Option<Secret>, now: Instant) {
        let good_for = match said {
            None => self.options.not_found,
            Some(secret) => {
                let lease = secret.good_for.filter(|lease| !lease.is_zero());
                lease.map_or(self.options.found, |lease| lease.min(self.options.found))
            }
        };
        let mut state = self.state.lock();
        if now.duration_since(state.purged) >= self.options.purge
            || state.by_path.len() >= MAX_CACHED_SECRETS
        {
            state.by_path.retain(|_, (_, until)| *until > now);
            state.purged = now;
        }
        if state.by_path.len() >= MAX_CACHED_SECRETS {
            state.by_path.clear();
        }
        let entry = (said.clone(), airside_model::deadline_after(now, good_for));
        state.by_path.insert(path.to_owned(), entry);
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.state.lock().by_path.len()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn answers_are_good_for_a_while() {
        let options = CacheOptions {
            found: 10 * SECOND,
            not_found: 3 * SECOND,
            purge: 100 * SECOND,
        };
        let leased = |seconds: u32| {
            Some(Secret {
                value: json!(1),
                good_for: Some(seconds * SECOND),
            })
        };
        for (said, good_for) in [
            (Some(Secret::new(json!("x"))), 10),
            (None, 3),
            (leased(4), 4),
            (leased(40), 10),
            (leased(0), 10),
        ] {
            let (cache, now) = (Cache::new(options), Instant::now());
            assert_eq!(cache.find("p", now), None);
            cache.keep("p", &said, now);
            assert_eq!(cache.find("p", now), Some(said.clone()));
            let last = now + good_for * SECOND - SECOND / 2;
            assert_eq!(cache.find("p", last), Some(said.clone()));
            assert_eq!(cache.find("p", now + good_for * SECOND), None, "{said:?}");
            assert_eq!(cache.find("q", now), None);
        }
    }

    #[test]
    fn what_is_no_longer_good_is_thrown_away() {
        let (cache, now) = (Cache::new(CacheOptions::default()), Instant::now());
        for number in 0..10 {
            cache.keep(&format!("p{number}"), &None, now);
        }
        cache.keep("late", &None, now + 60 * SECOND);
        assert_eq!(cache.len(), 11);
        cache.keep("later", &None, now + 605 * SECOND);
        assert_eq!(cache.len(), 1);
    }
}
