//! Any provider that speaks OpenID Connect.

mod claims;
mod discovery;
mod id_token;
mod keys;

use std::time::Duration;

use airside_auth::{ConnectorName, Identity};
use async_trait::async_trait;
use serde_json::{Map, Value};
use url::Url;

pub use self::id_token::IdTokenError;
use self::{claims::ClaimNames, discovery::Discovery, id_token::Expected, keys::Keys};
use crate::{
    Attempt, ConnectorError, HttpError, Redirecting, Secret,
    error::{Fault, Result},
    http::{Http, is_confidential},
    oauth::{self, OauthClient, Tokens},
};

#[derive(Clone, Debug)]
pub struct OidcConfig {
    pub connector: ConnectorName,
    pub title: String,
    /// The provider's URL; what to know about it is found under `/.well-known` there.
    pub issuer: String,
    pub client_id: String,
    pub client_secret: Secret,
    /// Beside `openid`.
    pub scopes: Vec<String>,
    /// The claim with the user name, where `preferred_username` is missing. Must be there if
    /// given.
    pub user_name_key: Option<String>,
    /// The claim with the groups, where `groups` is missing; `None` to look at no groups.
    pub groups_key: Option<String>,
    pub ask_user_info: bool,
    pub skip_email_verified: bool,
    /// CA certificates in PEM form, trusted beside the machine's.
    pub ca: Option<Vec<u8>>,
    pub patience: Duration,
}

impl OidcConfig {
    /// Returns a setup with the defaults for every optional setting.
    pub fn new(issuer: &str, client_id: &str, client_secret: Secret) -> Self {
        Self {
            connector: ConnectorName::Oidc,
            title: "OIDC".to_owned(),
            issuer: issuer.to_owned(),
            client_id: client_id.to_owned(),
            client_secret,
            scopes: ["profile", "email"].map(str::to_owned).to_vec(),
            user_name_key: None,
            groups_key: Some("groups".to_owned()),
            ask_user_info: true,
            skip_email_verified: false,
            ca: None,
            patience: crate::REQUEST_TIMEOUT,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum OidcSetupError {
    #[error("the issuer {0:?} is not a URL")]
    NotAUrl(String),
    #[error("the issuer {0:?} must be https, unless it is on this machine")]
    Insecure(String),
    #[error(transparent)]
    Http(#[from] HttpError),
}

pub struct Oidc {
    connector: ConnectorName,
    title: String,
    client: OauthClient,
    scopes: Vec<String>,
    names: ClaimNames,
    ask_user_info: bool,
    http: Http,
    discovery: Discovery,
    keys: Keys,
}

impl Oidc {
    /// Makes a connector without asking the provider yet: it may come up after us.
    pub fn new(config: OidcConfig) -> Result<Self, OidcSetupError> {
        let issuer: Url = config
            .issuer
            .parse()
            .map_err(|_| OidcSetupError::NotAUrl(config.issuer.clone()))?;
        if !is_confidential(&issuer) {
            return Err(OidcSetupError::Insecure(config.issuer));
        }
        let mut scopes = vec!["openid".to_owned()];
        scopes.extend(config.scopes.into_iter().filter(|scope| scope != "openid"));
        Ok(Self {
            connector: config.connector,
            title: config.title,
            client: OauthClient {
                id: config.client_id,
                secret: config.client_secret,
            },
            scopes,
            names: ClaimNames {
                user_name: config.user_name_key,
                groups: config.groups_key,
                skip_email_verified: config.skip_email_verified,
            },
            ask_user_info: config.ask_user_info,
            http: Http::new(config.ca.as_deref(), config.patience)?,
            discovery: Discovery::new(config.issuer),
            keys: Keys::default(),
        })
    }

    async fn begin_at(&self, attempt: &Attempt, state: &str, callback: &str) -> Result<Url> {
        let endpoint = self
            .discovery
            .get(&self.http)
            .await?
            .authorization_endpoint
            .clone();
        let scopes = &self.scopes;
        let mut url =
            oauth::authorization_url(&endpoint, &self.client, scopes, attempt, state, callback);
        url.query_pairs_mut().append_pair("nonce", &attempt.nonce);
        Ok(url)
    }

    async fn identify(&self, attempt: &Attempt, code: &str, callback: &str) -> Result<Identity> {
        let provider = self.discovery.get(&self.http).await?;
        let tokens = oauth::exchange(
            &self.http,
            &provider.token_endpoint,
            &self.client,
            provider.client_auth(),
            attempt,
            code,
            callback,
        )
        .await?;
        let expected = Expected {
            issuer: &provider.issuer,
            client_id: &self.client.id,
            nonce: &attempt.nonce,
        };
        let id_token = tokens.id_token.as_deref().unwrap_or_default();
        let mut claims = self
            .keys
            .verify(&self.http, &provider.jwks_uri, id_token, &expected)
            .await?;
        if let Some(endpoint) = provider.userinfo_endpoint.as_ref()
            && self.ask_user_info
        {
            let more = self.user_info(endpoint, &tokens).await?;
            if more.get("sub") != claims.get("sub") {
                return Err(Fault::OtherSubject);
            }
            claims.extend(more);
        }
        self.names.identity(self.connector, &claims)
    }

    async fn user_info(&self, endpoint: &Url, tokens: &Tokens) -> Result<Map<String, Value>> {
        let token = Some(tokens.access_token.as_str());
        self.http.get(endpoint, token).await?.json()
    }

    fn fail(&self, fault: Fault) -> ConnectorError {
        ConnectorError {
            connector: self.connector,
            fault,
        }
    }
}

#[async_trait]
impl Redirecting for Oidc {
    fn connector(&self) -> ConnectorName {
        self.connector
    }

    fn title(&self) -> &str {
        &self.title
    }

    async fn begin(
        &self,
        attempt: &Attempt,
        state: &str,
        callback: &str,
    ) -> Result<Url, ConnectorError> {
        let url = self.begin_at(attempt, state, callback).await;
        url.map_err(|fault| self.fail(fault))
    }

    async fn finish(
        &self,
        attempt: &Attempt,
        code: &str,
        callback: &str,
    ) -> Result<Identity, ConnectorError> {
        let identity = self.identify(attempt, code, callback).await;
        identity.map_err(|fault| self.fail(fault))
    }
}
