//! The tokens of webhooks, kept for a short time so that strangers cause no load on secret
//! managers.

use std::{collections::HashMap, sync::Arc, time::Duration};

use airside_model::PipelineId;
use parking_lot::Mutex;
use tokio::{sync::Semaphore, time::Instant};

/// Time for which a token counts without another lookup.
const TOKEN_LIFETIME: Duration = Duration::from_secs(60);

/// Minimum time between two lookups of one resource's token.
const LOOKUP_INTERVAL: Duration = Duration::from_secs(5);

/// Maximum number of resources whose tokens are kept. A dropped one is looked up again.
const MAX_TOKENS: usize = 10_000;

/// A resource, and its token as its pipeline has it: another configuration is another key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) pipeline: PipelineId,
    pub(crate) resource: String,
    pub(crate) template: String,
}

/// Maximum number of lookups at once, of all resources together.
const MAX_LOOKUPS: usize = 8;

pub(crate) struct WebhookTokens {
    slots: Mutex<HashMap<Key, Arc<Slot>>>,
    looks: Semaphore,
}

impl Default for WebhookTokens {
    fn default() -> Self {
        Self {
            slots: Mutex::default(),
            looks: Semaphore::new(MAX_LOOKUPS),
        }
    }
}

/// The state of one token. Requests for it at the same time wait for one lookup.
#[derive(Default)]
struct Slot(tokio::sync::Mutex<KnownToken>);

#[derive(Default)]
struct KnownToken {
    token: Option<String>,
    looked: Option<Instant>,
}

impl KnownToken {
    fn is_within(&self, age: Duration) -> bool {
        self.looked.is_some_and(|looked| looked.elapsed() < age)
    }

    fn is(&self, shown: &str) -> bool {
        let token = self.token.as_deref().unwrap_or_default();
        !token.is_empty() && is_same(token.as_bytes(), shown.as_bytes())
    }
}

impl WebhookTokens {
    /// Returns true if the resource's token was shown. `look` looks the token up, at most once
    /// every few seconds. After an error of `look`, which is returned, no token is right until the
    /// next lookup.
    pub(crate) async fn is_right<E>(
        &self,
        key: &Key,
        shown: &str,
        look: impl AsyncFnOnce() -> Result<String, E>,
    ) -> Result<bool, E> {
        let slot = self.slot(key);
        let mut known = slot.0.lock().await;
        if known.is_within(TOKEN_LIFETIME) && known.is(shown) {
            return Ok(true);
        }
        if known.is_within(LOOKUP_INTERVAL) {
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
        if slots.len() >= MAX_TOKENS && !slots.contains_key(key) {
            slots.retain(|_, slot| {
                slot.0
                    .try_lock()
                    .map_or(true, |known| known.is_within(TOKEN_LIFETIME))
            });
        }
        if slots.len() >= MAX_TOKENS {
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
        tokio::time::advance(LOOKUP_INTERVAL).await;
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
