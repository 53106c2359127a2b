//! The keys that a provider signs with: fetched once, kept, and fetched again when a token does not
//! fit them, since providers change their keys.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use jsonwebtoken::jwk::Jwk;
use serde::Deserialize;
use serde_json::{Map, Value};
use url::Url;

use super::id_token::{self, Expected};
use crate::{
    error::{Fault, Result},
    http::Http,
};

/// A key that the provider has withdrawn is trusted no longer than this.
const OLD: Duration = Duration::from_secs(3600);

#[derive(Default)]
pub(crate) struct Keys(Mutex<Kept>);

type Kept = Option<(Instant, Arc<Vec<Jwk>>)>;

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Value>,
}

impl Keys {
    /// The claims of an id token, if it is good.
    pub(crate) async fn verify(
        &self,
        http: &Http,
        url: &Url,
        token: &str,
        expected: &Expected<'_>,
    ) -> Result<Map<String, Value>> {
        let kept = self.kept().clone();
        if let Some((since, keys)) = kept
            && since.elapsed() < OLD
        {
            match id_token::verify(token, &keys, expected) {
                Err(error) if error.may_be_another_key() => {}
                verified => return verified.map_err(Fault::IdToken),
            }
        }
        let keys = Arc::new(fetch(http, url).await?);
        *self.kept() = Some((Instant::now(), keys.clone()));
        id_token::verify(token, &keys, expected).map_err(Fault::IdToken)
    }

    /// Returns the kept keys. They are never held while the provider is asked.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keys of kinds that we do not know are left out.
async fn fetch(http: &Http, url: &Url) -> Result<Vec<Jwk>> {
    let set: KeySet = http.get(url, None).await?.json()?;
    let keys = set.keys.into_iter();
    Ok(keys
        .filter_map(|key| serde_json::from_value(key).ok())
        .collect())
}
