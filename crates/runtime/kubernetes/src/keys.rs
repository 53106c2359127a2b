//! The keys that a cluster signs its service-account tokens with: fetched once, kept, and fetched
//! again when a token names a key that is not among them or when they have grown old.

use std::time::Duration;

use airside_model::chain;
use jsonwebtoken::jwk::{Jwk, JwkSet};
use kube::Client;
use tokio::{sync::Mutex, time::Instant};
use tracing::warn;

/// A key that the cluster has withdrawn is trusted no longer than this.
const OLD: Duration = Duration::from_secs(3600);
/// Tokens with made-up key names must not make us ask the API server all the time.
const PAUSE: Duration = Duration::from_secs(10);
const KEYS_TIMEOUT: Duration = Duration::from_secs(15);

#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    #[error(
        "the cluster's token keys (/openid/v1/jwks) cannot be read; the target's account needs the \
         cluster role system:service-account-issuer-discovery"
    )]
    Fetch(#[source] Box<kube::Error>),
    #[error("the cluster did not give its token keys (/openid/v1/jwks) in time")]
    Slow,
    #[error("the cluster's token keys (/openid/v1/jwks) cannot be understood")]
    Malformed(#[source] serde_json::Error),
}

pub(crate) struct Keys {
    client: Client,
    kept: Mutex<Option<Kept>>,
}

struct Kept {
    keys: JwkSet,
    since: Instant,
}

impl Keys {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            kept: Mutex::default(),
        }
    }

    /// The key of a name, or nothing if the cluster has none of it.
    pub(crate) async fn find(&self, id: &str) -> Result<Option<Jwk>, KeysError> {
        let mut kept = self.kept.lock().await;
        if let Some(Kept { keys, since }) = kept.as_ref() {
            let key = keys.find(id).cloned();
            let age = since.elapsed();
            if age < PAUSE || (key.is_some() && age < OLD) {
                return Ok(key);
            }
        }
        match self.fetch().await {
            Ok(keys) => {
                let key = keys.find(id).cloned();
                *kept = Some(Kept {
                    keys,
                    since: Instant::now(),
                });
                Ok(key)
            }
            // An API server that is away for a while must not stop the claims of running steps.
            Err(error) => match kept.as_ref().and_then(|kept| kept.keys.find(id)) {
                Some(key) => {
                    warn!(error = %chain(&error), "token keys not read; earlier ones used");
                    Ok(Some(key.clone()))
                }
                None => Err(error),
            },
        }
    }

    async fn fetch(&self) -> Result<JwkSet, KeysError> {
        let request = http::Request::get("/openid/v1/jwks")
            .body(Vec::new())
            .map_err(|error| KeysError::Fetch(Box::new(kube::Error::HttpError(error))))?;
        let text = tokio::time::timeout(KEYS_TIMEOUT, self.client.request_text(request))
            .await
            .map_err(|_| KeysError::Slow)?
            .map_err(|error| KeysError::Fetch(Box::new(error)))?;
        serde_json::from_str(&text).map_err(KeysError::Malformed)
    }
}
