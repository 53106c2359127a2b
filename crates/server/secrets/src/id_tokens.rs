//! Id tokens: signed statements about a build, for other services to believe.
//!
//! Keys are made when the first token is wanted, or when a verifier first asks for their public
//! halves, and are replaced now and then; an old one stays published for as long as tokens that it
//! signed may be around.

mod claims;
mod key;
mod settings;

use std::{sync::Arc, time::Duration};

use airside_model::chain;
use airside_secret_managers::{Asker, Error as SecretError, Secret};
use airside_store::{Micros, Store, now};
use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::keeper::Keeper;
use key::{Algorithm, Key};
pub(crate) use settings::IdTokenSettings;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Store(#[from] airside_store::Error),
    #[error("an id token cannot be signed: {0}")]
    Key(&'static str),
    #[error("making a key was interrupted")]
    Interrupted,
}

/// The rotation of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// The time between two looks at the keys.
    pub check_interval: Duration,
    /// A key older than this is replaced; none: never.
    pub period: Option<Duration>,
    /// So long after that the old one is still published.
    pub grace: Duration,
}

impl Default for Rotation {
    fn default() -> Self {
        const HOUR: Duration = Duration::from_secs(3600);
        Self {
            check_interval: HOUR / 6,
            period: Some(168 * HOUR),
            grace: 24 * HOUR,
        }
    }
}

/// A handle on keys and what they sign; clones share it.
#[derive(Clone)]
pub struct IdTokens(Arc<Signer>);

struct Signer {
    store: Store,
    issuer: String,
    rotation: Rotation,
    /// One makes keys at a time.
    making: Mutex<()>,
}

impl IdTokens {
    /// Others find the keys of `issuer` under its `/.well-known`.
    pub fn new(store: Store, issuer: &str, rotation: Rotation) -> Self {
        Self(Arc::new(Signer {
            store,
            issuer: issuer.trim_end_matches('/').to_owned(),
            rotation,
            making: Mutex::default(),
        }))
    }

    pub fn issuer(&self) -> &str {
        &self.0.issuer
    }

    /// Returns the document that verifiers fetch: the public halves of all keys.
    pub async fn public_keys(&self) -> Result<Value, Error> {
        for algorithm in Algorithm::ALL {
            self.newest(algorithm).await?;
        }
        let keys = self.0.store.signing_keys().await?;
        let keys: Result<Vec<Value>, Error> = keys
            .iter()
            .map(|stored| Key::read(stored)?.public())
            .collect();
        Ok(json!({"keys": keys?}))
    }

    /// Replaces old keys until `shutdown`.
    pub async fn rotate_forever(&self, shutdown: CancellationToken) {
        let every = self.0.rotation.check_interval.max(Duration::from_secs(1));
        let mut ticks = tokio::time::interval(every);
        while shutdown.run_until_cancelled(ticks.tick()).await.is_some() {
            if let Err(error) = self.rotate_in_turn(every).await {
                warn!(error = %chain(&error), "keys of id tokens not renewed");
            }
        }
    }

    /// Does nothing while an administrator has paused the component.
    async fn rotate_in_turn(&self, every: Duration) -> Result<(), Error> {
        let name = "signing_key_lifecycler";
        if self.0.store.component_turn(name, every).await? {
            self.rotate(now()).await
        } else {
            Ok(())
        }
    }

    /// Replaces and removes keys. A key that is needed and not there is not made here, but by the
    /// request that needs it.
    async fn rotate(&self, now: Micros) -> Result<(), Error> {
        for algorithm in Algorithm::ALL {
            let Rotation { period, grace, .. } = self.0.rotation;
            let stored = self.0.store.signing_keys().await?;
            let mut keys = stored
                .iter()
                .filter(|key| key.algorithm == algorithm.name());
            let Some(newest) = keys.next() else {
                continue;
            };
            let age = now.since(newest.created_at);
            if period.is_some_and(|period| age > period) {
                self.make(algorithm, now).await?;
            } else if age >= grace {
                for key in keys {
                    self.0.store.delete_signing_key(&key.id).await?;
                    info!(key = key.id, "replaced key of id tokens removed");
                }
            }
        }
        Ok(())
    }

    async fn newest(&self, algorithm: Algorithm) -> Result<Key, Error> {
        if let Some(key) = self.stored(algorithm).await? {
            return Ok(key);
        }
        let _turn = self.0.making.lock().await;
        match self.stored(algorithm).await? {
            Some(key) => Ok(key),
            None => self.make(algorithm, now()).await,
        }
    }

    async fn stored(&self, algorithm: Algorithm) -> Result<Option<Key>, Error> {
        let stored = self.0.store.signing_keys().await?;
        let newest = stored.iter().find(|key| key.algorithm == algorithm.name());
        newest.map(Key::read).transpose()
    }

    async fn make(&self, algorithm: Algorithm, now: Micros) -> Result<Key, Error> {
        // A long RSA key takes a while to find.
        let made = airside_tasks::blocking("id token's key", move || Key::generate(algorithm));
        let (key, stored) = made.await.map_err(|_| Error::Interrupted)??;
        let stored = airside_store::SigningKey {
            created_at: now,
            ..stored
        };
        self.0.store.save_signing_key(&stored).await?;
        info!(
            key = stored.id,
            algorithm = algorithm.name(),
            "key of id tokens made"
        );
        Ok(key)
    }

    async fn token(&self, asker: &Asker, settings: &IdTokenSettings) -> Result<String, Error> {
        let key = self.newest(settings.algorithm).await?;
        let claims = claims::claims(&self.0.issuer, asker, settings, now());
        key.sign(&claims)
    }
}

/// A var source of type `idtoken`: each look is a new token.
pub(crate) struct IdTokenKeeper {
    pub(crate) signer: IdTokens,
    pub(crate) settings: IdTokenSettings,
}

#[async_trait]
impl Keeper for IdTokenKeeper {
    fn paths(&self, _: &Asker, name: &str) -> Result<Vec<String>, SecretError> {
        match name {
            "token" => Ok(vec![name.to_owned()]),
            other => Err(SecretError::Refused(format!(
                "a var source of type idtoken has only the variable `token`, not `{other}`"
            ))),
        }
    }

    async fn read(&self, asker: &Asker, _: &str) -> Result<Option<Secret>, SecretError> {
        let token = self.signer.token(asker, &self.settings).await;
        let token = token.map_err(|error| match &error {
            Error::Store(store) if store.is_transient() => SecretError::Away(chain(&error)),
            _ => SecretError::Refused(chain(&error)),
        })?;
        Ok(Some(Secret::new(Value::String(token))))
    }

    fn may_be_kept(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
