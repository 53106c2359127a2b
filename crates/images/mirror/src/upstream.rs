//! Requests to the registries themselves, with the login of the mirror's caller or without one.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use airside_model::chain;
use airside_oci::{
    BearerChallenge, Challenge, MAX_TOKEN_BYTES, Repository, media_type::ACCEPT_MANIFESTS_OR_ANY,
    read_token,
};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use parking_lot::Mutex;

use crate::{AskedThing, Away, Caller, Client, Registries};

/// Life of a token whose realm names none; by the specification it is at least a minute.
const TOKEN_LIVES: Duration = Duration::from_secs(50);
/// Pause for a registry that refuses too many requests and names no time.
const REST: Duration = Duration::from_secs(30);
const LONGEST_REST: Duration = Duration::from_secs(600);

pub type Reply = Response<Incoming>;

/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct Upstream(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    client: Client,
    way: Way,
    /// Tokens that the registry gives without a login, by repository.
    tokens: Mutex<HashMap<Repository, (HeaderValue, Instant)>>,
    /// Registries that want to be left alone, and until when.
    resting: Mutex<HashMap<String, Instant>>,
}

#[derive(Debug)]
enum Way {
    Registries(Registries),
    /// A mirror, which knows the registries.
    Mirror(String),
}

impl Upstream {
    pub fn new(client: Client, registries: Registries) -> Self {
        Self::by(client, Way::Registries(registries))
    }

    /// Returns an upstream that is reached through a mirror at this address, such as
    /// `http://10.0.0.1:5000`.
    pub fn through(client: Client, mirror: &str) -> Self {
        let mirror = mirror.trim_end_matches('/').to_owned();
        Self::by(client, Way::Mirror(mirror))
    }

    fn by(client: Client, way: Way) -> Self {
        Self(Arc::new(Inner {
            client,
            way,
            tokens: Mutex::default(),
            resting: Mutex::default(),
        }))
    }

    /// Returns true if images of this host are mirrored.
    pub fn knows(&self, host: &str) -> bool {
        match &self.0.way {
            Way::Registries(registries) => registries.base(host).is_some(),
            Way::Mirror(_) => true,
        }
    }

    /// Returns the address of a thing at its registry, and the registry's base address.
    fn address(&self, asked: &AskedThing) -> Option<(String, String)> {
        let host = asked.repository.host();
        let path = asked.path();
        match &self.0.way {
            Way::Registries(registries) => {
                let base = registries.base(host)?;
                Some((format!("{base}{path}"), base))
            }
            Way::Mirror(base) => {
                let host = host
                    .replace(':', "%3A")
                    .replace('[', "%5B")
                    .replace(']', "%5D");
                Some((format!("{base}{path}?ns={host}"), base.clone()))
            }
        }
    }

    /// Asks with the caller's own login. Without one it asks with a public token, if the registry
    /// wants one; if that is not enough, the answer is the registry's own challenge for a login.
    pub async fn ask(
        &self,
        method: &Method,
        asked: &AskedThing,
        caller: &Caller,
        range: Option<&HeaderValue>,
    ) -> Result<Reply, Away> {
        let host = asked.repository.host();
        let Some((address, base)) = self.address(asked) else {
            return Err(Away::Address(host.to_owned()));
        };
        self.rested(&base)?;
        let mut headers = HeaderMap::new();
        headers.insert(
            header::ACCEPT,
            HeaderValue::from_static(ACCEPT_MANIFESTS_OR_ANY),
        );
        headers.extend(range.map(|range| (header::RANGE, range.clone())));
        let known = caller
            .login()
            .cloned()
            .or_else(|| self.token(&asked.repository));
        headers.extend(known.map(|login| (header::AUTHORIZATION, login)));
        let answer = self.0.client.send(method, &address, &headers).await?;
        let answer = match caller.login() {
            None if answer.status() == StatusCode::UNAUTHORIZED => {
                self.as_anybody(method, asked, &base, headers, answer)
                    .await?
            }
            _ => answer,
        };
        if answer.status() == StatusCode::TOO_MANY_REQUESTS {
            self.rest(&base, answer.headers());
        }
        Ok(answer)
    }

    /// Repeats a request with a public token, if the registry gives one.
    async fn as_anybody(
        &self,
        method: &Method,
        asked: &AskedThing,
        base: &str,
        mut headers: HeaderMap,
        refused: Reply,
    ) -> Result<Reply, Away> {
        let Some(challenge) = bearer_challenge(refused.headers()) else {
            return Ok(refused);
        };
        if matches!(self.0.way, Way::Mirror(_)) {
            return Ok(refused);
        }
        let realm = match challenge.token_url(base, None) {
            Ok(realm) => realm,
            Err(error) => {
                tracing::warn!(registry = base, error = %chain(&error), "token server not asked");
                return Ok(refused);
            }
        };
        let answer = self
            .0
            .client
            .send(&Method::GET, &realm, &HeaderMap::new())
            .await?;
        if !answer.status().is_success() {
            return Ok(refused);
        }
        let body = Limited::new(answer.into_body(), MAX_TOKEN_BYTES)
            .collect()
            .await;
        let token = body
            .ok()
            .and_then(|body| read_token(&body.to_bytes()).ok())
            .and_then(|token| HeaderValue::from_str(&format!("Bearer {token}")).ok());
        let Some(token) = token else {
            return Ok(refused);
        };
        headers.insert(header::AUTHORIZATION, token.clone());
        let (address, _) = self
            .address(asked)
            .ok_or_else(|| Away::Address(base.to_owned()))?;
        let answer = self.0.client.send(method, &address, &headers).await?;
        match answer.status() {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Ok(refused),
            _ => {
                let until = Instant::now() + TOKEN_LIVES;
                let mut tokens = self.0.tokens.lock();
                tokens.retain(|_, (_, until)| *until > Instant::now());
                tokens.insert(asked.repository.clone(), (token, until));
                Ok(answer)
            }
        }
    }

    fn token(&self, repository: &Repository) -> Option<HeaderValue> {
        let tokens = self.0.tokens.lock();
        let (token, until) = tokens.get(repository)?;
        (*until > Instant::now()).then(|| token.clone())
    }

    fn rested(&self, base: &str) -> Result<(), Away> {
        let mut resting = self.0.resting.lock();
        resting.retain(|_, until| *until > Instant::now());
        if resting.contains_key(base) {
            Err(Away::Resting(base.to_owned()))
        } else {
            Ok(())
        }
    }

    fn rest(&self, base: &str, headers: &HeaderMap) {
        let said = headers.get(header::RETRY_AFTER);
        let said = said.and_then(|said| said.to_str().ok()?.parse().ok());
        let rest = said.map_or(REST, Duration::from_secs).min(LONGEST_REST);
        tracing::warn!(
            registry = base,
            seconds = rest.as_secs(),
            "registry asked for a pause"
        );
        let until = airside_model::deadline_after(Instant::now(), rest);
        self.0.resting.lock().insert(base.to_owned(), until);
    }
}

/// Returns the first challenge that a token answers.
fn bearer_challenge(headers: &HeaderMap) -> Option<BearerChallenge> {
    let texts = headers.get_all(header::WWW_AUTHENTICATE).into_iter();
    texts
        .filter_map(|text| match Challenge::parse(text.to_str().ok()?)? {
            Challenge::Bearer(challenge) => Some(challenge),
            Challenge::Basic => None,
        })
        .next()
}
