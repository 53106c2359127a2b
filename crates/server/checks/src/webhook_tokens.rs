//! The tokens of webhooks, kept for a moment: strangers make no secret manager work.

use std::{collections::HashMap, sync::Arc, time::Duration};

use airside_model::PipelineId;
use parking_lot::Mutex;
use tokio::{sync::Semaphore, time::Instant};

/// A token that was right is right for so long without another look.
const GOOD: Duration = Duration::from_secs(60);

/// Between two looks for the token of one resource.
const AGAIN: Duration = Duration::from_secs(5);

/// Resources whose tokens are kept. Looking one up again costs a question.
const MOST: usize = 10_000;

/// A resource, and its token as its pipeline has it: another configuration is another key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) pipeline: PipelineId,
    pub(crate) resource: String,
    pub(crate) template: String,
}

/// Looks at once, for all resources together.
const LOOKS: usize = 8;

pub(crate) struct WebhookTokens {
    slots: Mutex<HashMap<Key, Arc<Slot>>>,
    looks: Semaphore,
}

impl Default for WebhookTokens {
    fn default() -> Self {
        Self {
            slots: Mutex::default(),
            looks: Semaphore::new(LOOKS),
        }
    }
}

/// The state of one token. Those who ask for it at the same time wait for one look.
#[derive(Default)]
struct Slot(tokio::sync::Mutex<Known>);

#[derive(Default)]
struct Known {
    token: Option<String>,
    looked: Option<Instant>,
}

impl Known {
    fn is_within(&self, age: Duration) -> bool {
        self.looked.is_some_and(|looked| looked.elapsed() < age)
    }

    fn is(&self, shown: &str) -> bool {
        let token = self.token.as_deref().unwrap_or_default();
        !token.is_empty() && is_same(token.as_bytes(), shown.as_bytes())
    }
}

impl WebhookTokens {
    /// Returns true if the resource's token was shown. `look` finds the token out, at most once every few seconds; the error is
    /// that look's own, and after one nothing is right until the next.
    pub(crate) async fn is_right<E>(
        &self,
        key: &Key,
        shown: &str,
        look: impl AsyncFnOnce() -> Result<String, E>,
    ) -> Result<bool, E> {
        let slot = self.slot(key);
        let mut known = slot.0.lock().await;
        if known.is_within(GOOD) && known.is(shown) {
            return Ok(true);
        }
        if known.is_within(AGAIN) {
            return Ok(false);
        }
        let turn = self.looks.acquire().await;
        let found = look().await;
        drop(turn);
        known.looked = Some(Instant::now());
        known.token = None;
        known.token = Some(found?);
        Ok(known.is(shown))
    }

    fn slot(&self, key: &Key) -> Arc<Slot> {
        let mut slots = self.slots.lock();
        if slots.len() >= MOST && !slots.contains_key(key) {
            slots.retain(|_, slot| {
                slot.0
                    .try_lock()
                    .map_or(true, |known| known.is_within(GOOD))
            });
        }
        if slots.len() >= MOST {
            slots.clear();
        }
        slots.entry(key.clone()).or_default().clone()
    }
}

/// Takes as long for a token that is nearly right as for any other of its length.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    let difference = a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b));
    a.len() == b.len() && difference == 0
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        sync::atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    struct Manager {
        token: Mutex<&'static str>,
        asked: AtomicUsize,
        tokens: WebhookTokens,
    }

    impl Manager {
        fn with(token: &'static str) -> Self {
            Self {
                token: Mutex::new(token),
                asked: AtomicUsize::new(0),
                tokens: WebhookTokens::default(),
            }
        }

        async fn takes(&self, shown: &str) -> bool {
            let key = Key {
                pipeline: PipelineId(1),
                resource: "r".to_owned(),
                template: "((hook))".to_owned(),
            };
            let look = async || {
                self.asked.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(10)).await;
                Ok::<_, Infallible>((*self.token.lock()).to_owned())
            };
            let Ok(right) = self.tokens.is_right(&key, shown, look).await;
            right
        }

        fn asked(&self) -> usize {
            self.asked.load(Ordering::Relaxed)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn hostile_guesses_ask_the_manager_once() {
        let manager = Manager::with("right");
        for _ in 0..20 {
            assert!(!manager.takes("guess").await);
        }
        assert_eq!(manager.asked(), 1);
        assert!(manager.takes("right").await, "guesses keep nobody else out");
        let many = (0..50).map(|_| manager.takes("right"));
        assert!(
            futures::future::join_all(many)
                .await
                .iter()
                .all(|right| *right)
        );
        assert_eq!(manager.asked(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_that_was_changed_counts_within_seconds() {
        let manager = Manager::with("old");
        assert!(manager.takes("old").await);
        *manager.token.lock() = "new";
        assert!(!manager.takes("new").await);
        tokio::time::advance(AGAIN).await;
        assert!(manager.takes("new").await);
        assert!(!manager.takes("old").await);
    }

    #[tokio::test]
    async fn a_resource_without_a_token_takes_none() {
        let manager = Manager::with("");
        assert!(!manager.takes("").await);
        assert!(!manager.takes("x").await);
    }

    #[test]
    fn tokens_are_compared_whole() {
        for (a, b, same) in [
            ("ab", "ab", true),
            ("ab", "aa", false),
            ("ab", "abc", false),
        ] {
            assert_eq!(is_same(a.as_bytes(), b.as_bytes()), same, "{a} {b}");
        }
    }
}
