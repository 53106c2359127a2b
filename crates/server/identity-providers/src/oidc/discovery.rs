//! A provider's discovery document.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde::Deserialize;
use url::Url;

use crate::{
    error::{Fault, Result},
    http::Http,
    oauth::ClientAuth,
};

/// A provider that moves its endpoints is followed within this time.
const OLD: Duration = Duration::from_secs(3600);

#[derive(Deserialize)]
pub(crate) struct Provider {
    pub(crate) issuer: String,
    pub(crate) authorization_endpoint: Url,
    pub(crate) token_endpoint: Url,
    pub(crate) jwks_uri: Url,
    pub(crate) userinfo_endpoint: Option<Url>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

impl Provider {
    /// The standard's default is the header; a provider that does not take it says so.
    pub(crate) fn client_auth(&self) -> ClientAuth {
        let methods = self.token_endpoint_auth_methods_supported.as_ref();
        let takes = |method: &str| {
            methods.is_none_or(|methods| methods.iter().any(|known| known == method))
        };
        if !takes("client_secret_basic") && takes("client_secret_post") {
            ClientAuth::Form
        } else {
            ClientAuth::Basic
        }
    }
}

pub(crate) struct Discovery {
    issuer: String,
    kept: Mutex<Option<(Instant, Arc<Provider>)>>,
}

impl Discovery {
    pub(crate) fn new(issuer: String) -> Self {
        Self {
            issuer,
            kept: Mutex::default(),
        }
    }

    pub(crate) async fn get(&self, http: &Http) -> Result<Arc<Provider>> {
        let kept = self.kept().clone();
        if let Some((since, provider)) = kept
            && since.elapsed() < OLD
        {
            return Ok(provider);
        }
        let provider = Arc::new(self.fetch(http).await?);
        *self.kept() = Some((Instant::now(), provider.clone()));
        Ok(provider)
    }

    /// Locks the provider that was read last. It is never held while the provider is asked: no
    /// login waits for another's slow answer.
    fn kept(&self) -> std::sync::MutexGuard<'_, Option<(Instant, Arc<Provider>)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn fetch(&self, http: &Http) -> Result<Provider> {
        let base = self.issuer.trim_end_matches('/');
        let url = format!("{base}/.well-known/openid-configuration");
        let url: Url = url.parse().map_err(|_| Fault::Garbage {
            at: self.issuer.clone(),
            why: "it is not a URL".to_owned(),
        })?;
        let provider: Provider = http.get(&url, None).await?.json()?;
        // A server that answers for another issuer could have its users pass for this one's.
        if provider.issuer.trim_end_matches('/') != base {
            return Err(Fault::Issuer {
                expected: self.issuer.clone(),
                found: provider.issuer,
            });
        }
        Ok(provider)
    }
}
