//! Slows down guessing: so many wrong passwords for a user, then a pause.

use std::{collections::HashMap, sync::Mutex, time::Duration};

use airside_store::Micros;

/// Tries that may fail in a row; after that one more each [`REFILL`].
const BURST: u32 = 10;
const REFILL: Duration = Duration::from_secs(6);

/// Names that are counted apart; all others share one count, so that making names up fills no memory.
const NAMES: usize = 10_000;
const OTHERS: &str = "";

/// Counts tries by name.
#[derive(Default)]
pub(crate) struct Limiter(Mutex<HashMap<String, Bucket>>);

struct Bucket {
    used: u32,
    since: Micros,
}

impl Limiter {
    /// Spends one try, or says how long to wait. [`Limiter::succeeded`] gives the tries back.
    pub(crate) fn try_once(&self, name: &str, now: Micros) -> Result<(), Duration> {
        let mut buckets = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let refill = REFILL.as_micros() as i64;
        if buckets.len() >= NAMES && !buckets.contains_key(name) {
            let whole = i64::from(BURST) * refill;
            buckets.retain(|_, bucket| now.0 - bucket.since.0 < whole);
        }
        let name = match buckets.len() < NAMES || buckets.contains_key(name) {
            true => name,
            false => OTHERS,
        };
        let bucket = buckets.entry(name.to_owned()).or_insert(Bucket {
            used: 0,
            since: now,
        });
        let elapsed = (now.0 - bucket.since.0).max(0);
        let refilled = elapsed / refill;
        bucket.used = bucket
            .used
            .saturating_sub(u32::try_from(refilled).unwrap_or(u32::MAX));
        bucket.since = Micros(bucket.since.0 + refilled * refill);
        if bucket.used >= BURST {
            let wait = refill - (now.0 - bucket.since.0).clamp(0, refill);
            return Err(Duration::from_micros(wait as u64));
        }
        bucket.used += 1;
        Ok(())
    }

    pub(crate) fn succeeded(&self, name: &str) {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_slowed_down_alone_and_recovers() {
        let limiter = Limiter::default();
        let start = Micros(1_000_000_000);
        for _ in 0..BURST {
            limiter.try_once("ann", start).unwrap();
        }
        assert_eq!(limiter.try_once("ann", start), Err(REFILL));
        limiter.try_once("bob", start).unwrap();

        let later = start.plus(REFILL);
        limiter.try_once("ann", later).unwrap();
        limiter.try_once("ann", later).unwrap_err();
        limiter.succeeded("ann");
        limiter.try_once("ann", later).unwrap();
    }

    #[test]
    fn made_up_names_share_a_count_once_there_are_too_many() {
        let limiter = Limiter::default();
        let start = Micros(1_000_000_000);
        for name in 0..NAMES {
            limiter.try_once(&name.to_string(), start).unwrap();
        }
        for name in 0..BURST {
            limiter.try_once(&format!("more {name}"), start).unwrap();
        }
        limiter.try_once("one more", start).unwrap_err();
        limiter.try_once("1", start).unwrap();
        assert!(limiter.0.lock().unwrap().len() <= NAMES + 1);
        // What has recovered is forgotten.
        limiter
            .try_once("one more", start.plus(REFILL * BURST))
            .unwrap();
        assert!(limiter.0.lock().unwrap().len() < 10);
    }

    #[test]
    fn a_clock_that_goes_back_does_no_harm() {
        let limiter = Limiter::default();
        for _ in 0..BURST {
            limiter.try_once("ann", Micros(i64::MAX / 2)).unwrap();
        }
        assert_eq!(limiter.try_once("ann", Micros(0)), Err(REFILL));
    }
}
