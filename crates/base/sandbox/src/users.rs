//! Numbers of users, one for each confined process at a time.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A range of users that no account of the machine has; clones share it.
#[derive(Clone, Debug)]
pub struct Users {
    first: u32,
    count: u32,
    taken: Arc<Mutex<BTreeSet<u32>>>,
}

/// A user that no other process of the range has. It is free again when this is dropped.
#[derive(Debug)]
pub struct TakenUser {
    number: u32,
    taken: Arc<Mutex<BTreeSet<u32>>>,
}

// Both ranges lie between those that systemd hands out (60578 to 60705, 61184 to 65519), below
// 65536 so that usual user namespaces know them.
impl Users {
    /// The users of processes that pull and unpack images.
    pub fn of_images() -> Self {
        Self::range(60_706, 194)
    }

    /// The users of checkers.
    pub fn of_checkers() -> Self {
        Self::range(60_900, 284)
    }

    fn range(first: u32, count: u32) -> Self {
        Self {
            first,
            count,
            taken: Arc::default(),
        }
    }

    /// Takes the lowest user number that is free, if one is.
    pub fn take(&self) -> Option<TakenUser> {
        let mut taken = lock(&self.taken);
        let number = (self.first..self.first + self.count).find(|user| !taken.contains(user))?;
        taken.insert(number);
        Some(TakenUser {
            number,
            taken: self.taken.clone(),
        })
    }
}

impl TakenUser {
    pub fn number(&self) -> u32 {
        self.number
    }
}

impl Drop for TakenUser {
    fn drop(&mut self) {
        lock(&self.taken).remove(&self.number);
    }
}

fn lock(taken: &Mutex<BTreeSet<u32>>) -> MutexGuard<'_, BTreeSet<u32>> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_processes_have_one_user() {
        let users = Users::range(7, 2);
        let same = users.clone();
        let (first, second) = (users.take().unwrap(), same.take().unwrap());
        assert_eq!((first.number(), second.number()), (7, 8));
        assert!(users.take().is_none());
        drop(first);
        assert_eq!(users.take().unwrap().number(), 7);
    }
}
