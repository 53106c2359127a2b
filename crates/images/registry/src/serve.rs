//! The distribution API: one request, one answer.

mod blobs;
mod manifests;
mod pushing;

use std::{path::Path, sync::Arc, time::Duration};

use airside_model::{Quotas, chain};
use airside_volumes::Watermarks;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, header, request::Parts};
use serde_json::json;

use crate::{
    Error, Grant, RegistryBody, RepositoryAccess, RepositoryName, Tokens,
    answer::{RegistryAnswer, empty, headers_only, json, set},
    clock,
    route::Route,
    store::Store,
    uploads::Uploads,
};

/// Life of a token that was given out for another one, in seconds.
const EXCHANGED: u64 = 300;

/// A handle to the registry; clones share it.
#[derive(Clone)]
pub struct Registry {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) store: Store,
    uploads: Uploads,
    tokens: Tokens,
}

/// A request that was understood and may be.
struct Asked<'a> {
    method: &'a Method,
    headers: &'a HeaderMap,
    query: &'a str,
    grant: &'a Grant,
}

impl Asked<'_> {
    fn query(&self, name: &str) -> Option<String> {
        let mut pairs = url::form_urlencoded::parse(self.query.as_bytes());
        let found = pairs.find(|(key, _)| key == name);
        found.map(|(_, value)| value.into_owned())
    }

    fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

impl Registry {
    /// Opens the folder and removes what an interrupted run left. One process at a time.
    pub fn open(root: &Path, tokens: Tokens, marks: Watermarks) -> Result<Self, Error> {
        Self::open_with_quotas(root, tokens, marks, Quotas::default())
    }

    /// Opens a registry in which teams may not have more than these quotas.
    pub fn open_with_quotas(
        root: &Path,
        tokens: Tokens,
        marks: Watermarks,
        quotas: Quotas,
    ) -> Result<Self, Error> {
        Ok(Self {
            inner: Arc::new(Inner {
                store: Store::open(root, marks)?.with_quotas(quotas),
                uploads: Uploads::default(),
                tokens,
            }),
        })
    }

    /// The bytes that a team's repositories have, for its quota.
    pub async fn used_by(&self, team: &str) -> Result<u64, Error> {
        let team = team.to_owned();
        self.blocking(move |store| store.used_by(&team)).await
    }

    /// Returns a token with these rights.
    pub fn token(&self, grant: &Grant) -> String {
        self.inner.tokens.issue(grant)
    }

    /// Removes what was not used for this long and is not referred to. Returns how much.
    pub async fn collect(&self, unused_for: Duration) -> Result<u64, Error> {
        self.inner.uploads.sweep();
        self.blocking(move |store| store.collect(unused_for)).await
    }

    pub async fn answer<B>(&self, request: Request<B>) -> http::Response<RegistryBody>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: std::error::Error,
    {
        let (parts, body) = request.into_parts();
        let mut answer = match self.handle(&parts, body).await {
            Ok(answer) => answer,
            Err(error) => {
                log(&parts, &error);
                error.answer()
            }
        };
        set(
            &mut answer,
            "docker-distribution-api-version",
            "registry/2.0",
        );
        match parts.method {
            Method::HEAD => headers_only(answer),
            _ => answer,
        }
    }

    async fn handle<B>(&self, parts: &Parts, body: B) -> Result<RegistryAnswer, Error>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: std::error::Error,
    {
        // The token comes first: without one a client learns nothing, not even what is wrong with
        // the request.
        let grant = self.grant(&parts.headers)?;
        let route = Route::parse(parts.uri.path())?;
        if let Some(repository) = route.repository() {
            let access = needed(&parts.method);
            if !grant.allows(access, repository) {
                return Err(Error::Denied(access, repository.clone()));
            }
        }
        let asked = Asked {
            method: &parts.method,
            headers: &parts.headers,
            query: parts.uri.query().unwrap_or_default(),
            grant: &grant,
        };
        let looks = matches!(parts.method, Method::GET | Method::HEAD);
        match route {
            Route::Version if looks => Ok(json(StatusCode::OK, "application/json", &json!({}))),
            Route::Token if looks => self.exchange(&asked),
            Route::Blob(repository, digest) => self.blob(&asked, repository, digest).await,
            Route::Manifest(repository, reference) => {
                self.manifest(&asked, repository, reference, body).await
            }
            Route::Uploads(repository) => self.begin(&asked, repository, body).await,
            Route::Upload(repository, id) => self.upload(&asked, repository, &id, body).await,
            Route::Tags(repository) if looks => self.tags(&asked, repository).await,
            Route::Referrers(repository, digest) if looks => {
                self.referrers(&asked, repository, digest).await
            }
            _ => Err(Error::Unsupported),
        }
    }

    /// Returns the rights of a request's token, which is the password of Basic, or given by Bearer.
    fn grant(&self, headers: &HeaderMap) -> Result<Grant, Error> {
        let header = headers.get(header::AUTHORIZATION);
        let header = header.and_then(|value| value.to_str().ok());
        let (scheme, rest) = header
            .and_then(|text| text.split_once(' '))
            .ok_or(Error::NoToken)?;
        let rest = rest.trim();
        match scheme.to_ascii_lowercase().as_str() {
            "bearer" => self.inner.tokens.check(rest),
            "basic" => {
                let decoded = STANDARD.decode(rest).ok();
                let login = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
                let login = login.ok_or(Error::BadToken)?;
                let (_, password) = login.split_once(':').ok_or(Error::BadToken)?;
                self.inner.tokens.check(password)
            }
            _ => Err(Error::NoToken),
        }
    }

    /// A token for less than the one that was shown, and for a moment only.
    fn exchange(&self, asked: &Asked<'_>) -> Result<RegistryAnswer, Error> {
        let mut grant = asked.grant.clone();
        if let Some(scope) = asked.query("scope") {
            let (repository, access) = scoped(&scope)?;
            if !grant.allows(access, &repository) {
                return Err(Error::Denied(access, repository));
            }
            (grant.repository, grant.access) = (repository, access);
        }
        let now = clock::seconds();
        grant.expires = grant.expires.min(now + EXCHANGED);
        let token = self.token(&grant);
        let body = json!({
            "token": token, "access_token": token, "expires_in": grant.expires.saturating_sub(now),
        });
        Ok(json(StatusCode::OK, "application/json", &body))
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let inner = self.inner.clone();
        let done = airside_tasks::blocking("registry", move || work(&inner.store)).await;
        done.map_err(|_| Error::Interrupted)?
    }
}

fn needed(method: &Method) -> RepositoryAccess {
    match *method {
        Method::GET | Method::HEAD => RepositoryAccess::Pull,
        Method::DELETE => RepositoryAccess::Delete,
        _ => RepositoryAccess::Push,
    }
}

/// Characters of a client's text that an error repeats.
const MAX_QUOTED_CHARS: usize = 160;

/// Reads `repository:NAME:pull,push`.
fn scoped(scope: &str) -> Result<(RepositoryName, RepositoryAccess), Error> {
    let wrong = || Error::Scope(scope.chars().take(MAX_QUOTED_CHARS).collect());
    let rest = scope.strip_prefix("repository:").ok_or_else(wrong)?;
    let (name, actions) = rest.rsplit_once(':').ok_or_else(wrong)?;
    let access = actions.split(',').map(|action| match action {
        "pull" => Ok(RepositoryAccess::Pull),
        "push" => Ok(RepositoryAccess::Push),
        "delete" | "*" => Ok(RepositoryAccess::Delete),
        _ => Err(wrong()),
    });
    let access: Vec<RepositoryAccess> = access.collect::<Result<_, _>>()?;
    let most = access.into_iter().max().ok_or_else(wrong)?;
    Ok((RepositoryName::parse(name)?, most))
}

fn log(parts: &Parts, error: &Error) {
    let (method, path) = (&parts.method, parts.uri.path());
    match error {
        _ if error.is_internal() => {
            tracing::error!(error = %chain(error), %method, path, "request to the registry failed");
        }
        Error::Denied(..) => {
            tracing::warn!(error = %chain(&error), %method, path, "request denied")
        }
        _ => {
            tracing::debug!(error = %chain(&error), %method, path, "request refused")
        }
    }
}

fn accepted() -> RegistryAnswer {
    empty(StatusCode::ACCEPTED)
}
