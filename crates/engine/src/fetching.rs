//! Which gets are being fetched right now.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use airside_model::TeamId;
use parking_lot::Mutex;

type Lock = tokio::sync::Mutex<()>;

/// A lock for each thing that a team fetches, as long as somebody holds it or waits for it.
#[derive(Default)]
pub(crate) struct Fetching {
    locks: Mutex<HashMap<(TeamId, String), Weak<Lock>>>,
}

impl Fetching {
    pub(crate) fn lock_of(&self, team: TeamId, key: &str) -> Arc<Lock> {
        let mut locks = self.locks.lock();
        locks.retain(|_, lock| lock.strong_count() > 0);
        let place = (team, key.to_owned());
        if let Some(lock) = locks.get(&place).and_then(Weak::upgrade) {
            return lock;
        }
        let lock = Arc::new(Lock::new(()));
        locks.insert(place, Arc::downgrade(&lock));
        lock
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_things_share_a_lock_while_somebody_has_it() {
        let fetching = Fetching::default();
        let first = fetching.lock_of(TeamId(1), "a");
        let held = first.try_lock().unwrap();
        assert!(fetching.lock_of(TeamId(1), "a").try_lock().is_err());
        assert!(fetching.lock_of(TeamId(1), "b").try_lock().is_ok());
        assert!(fetching.lock_of(TeamId(2), "a").try_lock().is_ok());
        drop(held);
        assert!(fetching.lock_of(TeamId(1), "a").try_lock().is_ok());
        drop(first);
        drop(fetching.lock_of(TeamId(3), "c"));
        assert_eq!(fetching.locks.lock().len(), 1);
    }
}
