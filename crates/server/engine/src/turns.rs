//! Turns for equal work, one at a time: gets of one version, checks of one resource.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use parking_lot::Mutex;

type Lock = Arc<tokio::sync::Mutex<()>>;

/// A lock for each key, as long as a task holds it or waits for it.
pub(crate) struct Turns<K>(Mutex<HashMap<K, Lock>>);

impl<K> Default for Turns<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash> Turns<K> {
    pub(crate) fn of(&self, key: K) -> Lock {
        let mut locks = self.0.lock();
        locks.retain(|_, lock| Arc::strong_count(lock) > 1);
        locks.entry(key).or_default().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_things_share_a_lock_while_somebody_has_it() {
        let turns = Turns::default();
        let first = turns.of("a");
        let held = first.try_lock().unwrap();
        assert!(turns.of("a").try_lock().is_err());
        assert!(turns.of("b").try_lock().is_ok());
        drop(held);
        assert!(turns.of("a").try_lock().is_ok());
        drop(first);
        drop(turns.of("c"));
        assert_eq!(turns.0.lock().len(), 1);
    }
}
