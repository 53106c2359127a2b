//! Uploads and downloads: how many at once, each on a thread of its own.

use std::{collections::HashMap, hash::Hash, io, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// The transfers of one kind, counted by their owners. Clones share them.
#[derive(Clone)]
pub struct Transfers<K: Eq + Hash>(Arc<Shared<K>>);

struct Shared<K> {
    overall: usize,
    per_owner: usize,
    running: Mutex<HashMap<K, usize>>,
}

/// The reason for which a transfer may not begin now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Busy {
    #[error("{0} transfers of the same owner are running")]
    Owner(usize),
    #[error("{0} transfers are running")]
    Overall(usize),
}

/// The thread ended without a result: it could not be started, or it panicked.
#[derive(Debug, thiserror::Error)]
pub enum Stopped {
    #[error("a thread for the transfer cannot be started")]
    NoThread(#[source] io::Error),
    #[error("the transfer ended without a result")]
    NoResult,
}

impl<K: Clone + Eq + Hash> Transfers<K> {
    pub fn new(overall: usize, per_owner: usize) -> Self {
        Self(Arc::new(Shared {
            overall,
            per_owner,
            running: Mutex::default(),
        }))
    }

    /// Counts one transfer more, unless there are too many.
    pub fn enter(&self, owner: K) -> Result<Turn<K>, Busy> {
        let mut running = self.0.running.lock();
        if running.values().sum::<usize>() >= self.0.overall {
            return Err(Busy::Overall(self.0.overall));
        }
        let own = running.entry(owner.clone()).or_default();
        if *own >= self.0.per_owner {
            return Err(Busy::Owner(self.0.per_owner));
        }
        *own += 1;
        drop(running);
        Ok(Turn {
            transfers: self.clone(),
            owner,
        })
    }
}

/// The right to one transfer, until this is dropped.
pub struct Turn<K: Clone + Eq + Hash> {
    transfers: Transfers<K>,
    owner: K,
}

impl<K: Clone + Eq + Hash + Send + 'static> Turn<K> {
    /// Runs the transfer on a thread of its own, which has the turn until it ends: a transfer that
    /// stalls holds up nothing else that blocks.
    pub fn run<T: Send + 'static>(
        self,
        transfer: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = Result<T, Stopped>> + Send + 'static
    where
        K: Sync,
    {
        let (done, result) = oneshot::channel();
        let started = std::thread::Builder::new()
            .name("transfer".to_owned())
            .spawn(move || {
                let came_to = transfer();
                drop(self);
                // Those who asked may be gone.
                let _ = done.send(came_to);
            });
        async move {
            started.map_err(Stopped::NoThread)?;
            result.await.map_err(|_| Stopped::NoResult)
        }
    }
}

impl<K: Clone + Eq + Hash> Drop for Turn<K> {
    fn drop(&mut self) {
        let mut running = self.transfers.0.running.lock();
        if let Some(own) = running.get_mut(&self.owner) {
            *own -= 1;
            if *own == 0 {
                running.remove(&self.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_owners_leave_turns_to_others() {
        let transfers = Transfers::new(3, 2);
        let first = transfers.enter("a").unwrap();
        let _second = transfers.enter("a").unwrap();
        assert_eq!(transfers.enter("a").err(), Some(Busy::Owner(2)));
        let _other = transfers.enter("b").unwrap();
        assert_eq!(transfers.enter("c").err(), Some(Busy::Overall(3)));
        drop(first);
        assert!(transfers.enter("c").is_ok());
    }

    #[tokio::test]
    async fn a_turn_lasts_as_long_as_its_thread() {
        let transfers = Transfers::new(1, 1);
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let running = transfers
            .enter("a")
            .unwrap()
            .run(move || wait.recv().is_ok());
        assert!(transfers.enter("b").is_err());
        go.send(()).unwrap();
        assert!(running.await.unwrap());
        assert!(transfers.enter("b").is_ok());
    }

    #[tokio::test]
    async fn a_thread_that_panics_gives_its_turn_back() {
        let transfers = Transfers::new(1, 1);
        let turn = transfers.enter("a").unwrap();
        let ended = turn.run(|| std::panic::resume_unwind(Box::new(()))).await;
        assert!(matches!(ended, Err::<(), _>(Stopped::NoResult)));
        assert!(transfers.enter("a").is_ok());
    }
}
