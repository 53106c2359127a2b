//! Equal checks in flight are one run.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use futures::{
    FutureExt as _,
    future::{BoxFuture, Shared, WeakShared},
};
use parking_lot::Mutex;

use crate::{Check, Freshness};

type Run<V> = BoxFuture<'static, Arc<V>>;

/// Key of a check: two checks with equal keys would find equal versions.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    team: String,
    asked: String,
}

impl Key {
    pub(crate) fn of(check: &Check) -> Self {
        let asked = (&check.type_, &check.source, &check.from, check.timeout);
        Self {
            team: check.team.clone(),
            asked: serde_json::to_string(&asked).expect("JSON is always JSON"),
        }
    }
}

/// Runs that others may join, by what they are about.
pub struct Sharing<K: Eq + Hash, V> {
    runs: Arc<Mutex<Runs<K, V>>>,
}

struct Runs<K, V> {
    by_key: HashMap<K, (u64, WeakShared<Run<V>>)>,
    next: u64,
}

impl<K: Eq + Hash, V> Default for Sharing<K, V> {
    fn default() -> Self {
        let runs = Runs {
            by_key: HashMap::new(),
            next: 0,
        };
        Self {
            runs: Arc::new(Mutex::new(runs)),
        }
    }
}

impl<K, V> Sharing<K, V>
where
    K: Clone + Eq + Hash + Send + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// Joins an equal run if there is one and that is enough, else begins one. A run without
    /// waiters is dropped.
    pub async fn run<F>(&self, key: K, freshness: Freshness, begin: impl FnOnce() -> F) -> V
    where
        F: Future<Output = V> + Send + 'static,
    {
        let shared = {
            let mut runs = self.runs.lock();
            let joined = match freshness {
                Freshness::Shared => runs.by_key.get(&key).and_then(|(_, weak)| weak.upgrade()),
                Freshness::FromNow => None,
            };
            match joined {
                Some(run) => run,
                None => self.begin(&mut runs, key, begin()),
            }
        };
        V::clone(&*shared.await)
    }

    fn begin(
        &self,
        runs: &mut Runs<K, V>,
        key: K,
        run: impl Future<Output = V> + Send + 'static,
    ) -> Shared<Run<V>> {
        let number = runs.next;
        runs.next += 1;
        let place = Place {
            runs: self.runs.clone(),
            key: key.clone(),
            number,
        };
        let run = async move {
            let outcome = run.await;
            drop(place);
            Arc::new(outcome)
        };
        let shared = run.boxed().shared();
        if let Some(weak) = shared.downgrade() {
            runs.by_key.insert(key, (number, weak));
        }
        shared
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.runs.lock().by_key.len()
    }
}

/// A run's place among those that can be joined, given up with it.
struct Place<K: Eq + Hash, V> {
    runs: Arc<Mutex<Runs<K, V>>>,
    key: K,
    number: u64,
}

impl<K: Eq + Hash, V> Drop for Place<K, V> {
    fn drop(&mut self) {
        let mut runs = self.runs.lock();
        let own = runs.by_key.get(&self.key);
        if own.is_some_and(|(number, _)| *number == self.number) {
            runs.by_key.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicU32, Ordering},
        time::Duration,
    };

    use serde_json::{Map, json};
    use tokio::sync::oneshot;

    use super::*;

    fn check(team: &str, number: u32, freshness: Freshness) -> Check {
        Check {
            team: team.to_owned(),
            type_: "mock".to_owned(),
            source: Map::from_iter([("n".to_owned(), json!(number))]),
            from: None,
            timeout: Duration::from_secs(60),
            freshness,
        }
    }

    /// Runs checks that all wait for the same moment, and counts how many really ran.
    async fn runs(checks: &[Check]) -> u32 {
        let (sharing, count) = (Sharing::default(), Arc::new(AtomicU32::new(0)));
        let (go, wait) = oneshot::channel::<()>();
        let wait = wait.map(|_| ()).shared();
        let all = futures::future::join_all(checks.iter().map(|check| {
            let (count, wait) = (count.clone(), wait.clone());
            sharing.run(Key::of(check), check.freshness, move || async move {
                count.fetch_add(1, Ordering::Relaxed);
                wait.await;
            })
        }));
        let (all, ()) = tokio::join!(all, async move {
            tokio::task::yield_now().await;
            let _ = go.send(());
        });
        assert_eq!(all.len(), checks.len());
        assert_eq!(sharing.len(), 0);
        count.load(Ordering::Relaxed)
    }

    #[tokio::test]
    async fn equal_checks_share_a_run_and_others_do_not() {
        use Freshness::{FromNow, Shared};
        let a = check("a", 1, Shared);
        assert_eq!(runs(&[a.clone(), a.clone(), a.clone()]).await, 1);
        assert_eq!(runs(&[a.clone(), check("a", 2, Shared)]).await, 2);
        assert_eq!(runs(&[a.clone(), check("b", 1, Shared)]).await, 2);
        assert_eq!(runs(&[a.clone(), check("a", 1, FromNow)]).await, 2);
        assert_eq!(runs(&[check("a", 1, FromNow), a]).await, 1);
    }

    #[tokio::test]
    async fn a_run_without_anybody_is_forgotten() {
        let sharing: Sharing<Key, ()> = Sharing::default();
        let check = check("a", 1, Freshness::Shared);
        let run = sharing.run(Key::of(&check), check.freshness, futures::future::pending);
        assert!(tokio::time::timeout(Duration::ZERO, run).await.is_err());
        assert_eq!(sharing.len(), 0);
    }
}
