//! A keeper of secrets, asked with patience: second tries, and a cache if the operator wants one.

use std::time::{Duration, Instant};

use airside_model::chain;
use airside_secret_managers::{Asker, Error, Secret};
use airside_vars::{Reference, traverse};
use serde_json::Value;
use tracing::debug;

use crate::{CacheOptions, Tries, cache::Cache, keeper::Keeper};

/// Longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

pub(crate) struct Source {
    keeper: Box<dyn Keeper>,
    tries: Tries,
    cache: Option<Cache>,
}

impl Source {
    pub(crate) fn new(keeper: Box<dyn Keeper>, tries: Tries, cache: Option<CacheOptions>) -> Self {
        let cache = cache.filter(|_| keeper.may_be_kept()).map(Cache::new);
        Self {
            keeper,
            tries,
            cache,
        }
    }

    /// The value of a variable, with the fields of the reference followed into it.
    pub(crate) async fn get(
        &self,
        asker: &Asker,
        reference: &Reference,
    ) -> Result<Option<Value>, airside_vars::Error> {
        let found = self.look(asker, &reference.path).await;
        let found = found.map_err(|error| airside_vars::Error::Lookup {
            name: reference.to_string(),
            reason: chain(&error),
        })?;
        found
            .map(|secret| traverse(&secret.value, reference).cloned())
            .transpose()
    }

    async fn look(&self, asker: &Asker, name: &str) -> Result<Option<Secret>, Error> {
        for path in self.keeper.paths(asker, name)? {
            if let Some(secret) = self.read(asker, &path).await? {
                return Ok(Some(secret));
            }
        }
        Ok(None)
    }

    async fn read(&self, asker: &Asker, path: &str) -> Result<Option<Secret>, Error> {
        let Some(cache) = &self.cache else {
            return self.patiently(asker, path).await;
        };
        if let Some(said) = cache.find(path, Instant::now()) {
            return Ok(said);
        }
        let said = self.patiently(asker, path).await?;
        cache.keep(path, &said, Instant::now());
        Ok(said)
    }

    async fn patiently(&self, asker: &Asker, path: &str) -> Result<Option<Secret>, Error> {
        let mut pause = self.tries.interval;
        for number in 1.. {
            let error = match self.keeper.read(asker, path).await {
                Err(error) if error.is_transient() => error,
                other => return other,
            };
            if number >= self.tries.attempts {
                return Err(match number {
                    1 => error,
                    _ => Error::Away(format!("{} (after {number} attempts)", chain(&error))),
                });
            }
            debug!(error = %chain(&error), attempt = number, "secret manager did not answer; will retry");
            tokio::time::sleep(pause.min(LONGEST_PAUSE)).await;
            pause = pause.saturating_mul(2);
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
