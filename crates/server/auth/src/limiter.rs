//! Slows down guessing: a number of tries at once, then a few that wait for their turn, then none.

use std::{
    collections::{HashMap, hash_map::RandomState},
    hash::{BuildHasher, Hash},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use airside_store::Micros;

/// Keys that are counted apart. The others share a few counts, so that making keys up fills no
/// memory.
const KEYS: usize = 10_000;
const SHARED: u64 = 64;

/// The pace at which tries may follow each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    /// Tries that may fail in a row.
    pub(crate) burst: u32,
    /// Time after which one more try may fail.
    pub(crate) refill: Duration,
    /// Tries that may wait for their turn; those after them are refused.
    pub(crate) line: u32,
}

/// Counts tries by a key.
pub(crate) struct Limiter<K> {
    rate: Rate,
    shares: RandomState,
    buckets: Mutex<HashMap<Key<K>, Bucket>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Key<K> {
    Own(K),
    Shared(u64),
}

struct Bucket {
    used: u32,
    since: Micros,
}

impl<K: Clone + Eq + Hash> Limiter<K> {
    pub(crate) fn new(rate: Rate) -> Self {
        Self {
            rate,
            shares: RandomState::new(),
            buckets: Mutex::default(),
        }
    }

    /// Spends one try. It says how long the try has to wait for its turn, or, as an error, how long
    /// until it would be worth to come back. [`Limiter::succeeded`] gives the tries back.
    pub(crate) fn try_once(&self, key: &K, now: Micros) -> Result<Duration, Duration> {
        let refill = micros(self.rate.refill);
        let mut buckets = self.buckets();
        let key = self.counted_as(key, now, &mut buckets);
        let bucket = buckets.entry(key).or_insert(Bucket {
            used: 0,
            since: now,
        });
        let elapsed = (now.0 - bucket.since.0).max(0);
        let refilled = elapsed / refill;
        bucket.used = bucket
            .used
            .saturating_sub(u32::try_from(refilled).unwrap_or(u32::MAX));
        bucket.since = Micros(bucket.since.0 + refilled * refill);
        let next = refill - (now.0 - bucket.since.0).clamp(0, refill);
        let before = i64::from(bucket.used.saturating_sub(self.rate.burst));
        let wait = Duration::from_micros((next + before * refill).max(0).cast_unsigned());
        if bucket.used >= self.rate.burst + self.rate.line {
            return Err(wait);
        }
        bucket.used += 1;
        Ok(if bucket.used <= self.rate.burst {
            Duration::ZERO
        } else {
            wait
        })
    }

    /// The tries of this key were not guesses.
    pub(crate) fn succeeded(&self, key: &K) {
        self.buckets().remove(&Key::Own(key.clone()));
    }

    /// The last try of this key was not a guess; what was tried before it may have been.
    pub(crate) fn take_back(&self, key: &K) {
        if let Some(bucket) = self.buckets().get_mut(&Key::Own(key.clone())) {
            bucket.used = bucket.used.saturating_sub(1);
        }
    }

    /// The key itself, while there are not too many of them.
    fn counted_as(&self, key: &K, now: Micros, buckets: &mut HashMap<Key<K>, Bucket>) -> Key<K> {
        let own = Key::Own(key.clone());
        if buckets.len() >= KEYS && !buckets.contains_key(&own) {
            let whole = i64::from(self.rate.burst + self.rate.line) * micros(self.rate.refill);
            buckets.retain(|_, bucket| now.0 - bucket.since.0 < whole);
        }
        if buckets.len() < KEYS || buckets.contains_key(&own) {
            own
        } else {
            Key::Shared(self.shares.hash_one(key) % SHARED)
        }
    }

    fn buckets(&self) -> MutexGuard<'_, HashMap<Key<K>, Bucket>> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros())
        .unwrap_or(i64::MAX)
        .max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFILL: Duration = Duration::from_secs(6);
    const RATE: Rate = Rate {
        burst: 10,
        refill: REFILL,
        line: 2,
    };
    const START: Micros = Micros(1_000_000_000);

    fn limiter() -> Limiter<String> {
        Limiter::new(RATE)
    }

    fn used_up(limiter: &Limiter<String>, name: &str, now: Micros) {
        for _ in 0..RATE.burst {
            assert_eq!(limiter.try_once(&name.to_owned(), now), Ok(Duration::ZERO));
        }
    }

    #[test]
    fn hostile_guesses_wait_in_a_short_line_and_others_do_not() {
        let (limiter, ann) = (limiter(), "ann".to_owned());
        used_up(&limiter, "ann", START);
        assert_eq!(limiter.try_once(&ann, START), Ok(REFILL));
        assert_eq!(limiter.try_once(&ann, START), Ok(REFILL * 2));
        assert_eq!(limiter.try_once(&ann, START), Err(REFILL * 3));
        assert_eq!(
            limiter.try_once(&"bob".to_owned(), START),
            Ok(Duration::ZERO)
        );

        let later = START.plus(REFILL * 3);
        assert_eq!(limiter.try_once(&ann, later), Ok(Duration::ZERO));
        assert_eq!(limiter.try_once(&ann, later), Ok(REFILL));
        limiter.succeeded(&ann);
        assert_eq!(limiter.try_once(&ann, later), Ok(Duration::ZERO));
    }

    #[test]
    fn hostile_names_without_end_share_counts_and_fill_no_memory() {
        let limiter = limiter();
        for name in 0..KEYS {
            limiter.try_once(&name.to_string(), START).unwrap();
        }
        let more = u32::try_from(SHARED).unwrap() * (RATE.burst + RATE.line) + 1;
        let tried = (0..more).map(|name| limiter.try_once(&format!("more {name}"), START));
        assert!(tried.filter(Result::is_err).count() > 0);
        limiter.try_once(&"1".to_owned(), START).unwrap();
        assert!(limiter.buckets().len() <= KEYS + SHARED as usize);
        // What has recovered is forgotten.
        let later = START.plus(REFILL * (RATE.burst + RATE.line));
        limiter.try_once(&"one more".to_owned(), later).unwrap();
        assert!(limiter.buckets().len() < 10);
    }

    #[test]
    fn a_try_that_is_taken_back_does_not_count() {
        let limiter = limiter();
        for _ in 0..100 {
            let ann = "ann".to_owned();
            assert_eq!(limiter.try_once(&ann, START), Ok(Duration::ZERO));
            limiter.take_back(&ann);
        }
    }

    #[test]
    fn a_clock_that_goes_back_does_no_harm() {
        let limiter = limiter();
        used_up(&limiter, "ann", Micros(i64::MAX / 2));
        assert_eq!(limiter.try_once(&"ann".to_owned(), Micros(0)), Ok(REFILL));
    }
}
