//! Whom a registry serves. Its own word counts, for a short while; nobody else's does.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use airside_image_sets::Repository;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use crate::{Asked, Away, Upstream};

/// How long a registry's yes counts without being asked again.
const FRESH: Duration = Duration::from_secs(300);
/// How long it counts while the registry cannot be asked.
const STALE: Duration = Duration::from_secs(3600);
/// As many as may be remembered; who is forgotten is only asked for again.
const MOST: usize = 10_000;

/// Who asks, by what they sent as a login; never kept as it is, never shown.
#[derive(Clone, Default)]
pub struct Caller(Option<HeaderValue>);

impl Caller {
    pub fn of(headers: &HeaderMap) -> Self {
        Self(headers.get(header::AUTHORIZATION).cloned())
    }

    pub fn anybody() -> Self {
        Self(None)
    }

    pub fn is_anybody(&self) -> bool {
        self.0.is_none()
    }

    pub fn login(&self) -> Option<&HeaderValue> {
        self.0.as_ref()
    }

    fn hash(&self) -> [u8; 32] {
        match &self.0 {
            Some(login) => Sha256::digest(login.as_bytes()).into(),
            None => [0; 32],
        }
    }
}

/// What a registry says about one thing and one caller.
#[derive(Debug)]
pub enum Verdict {
    /// It is there, with these headers.
    Yes(HeaderMap),
    /// The answer for the caller: it asks for a login, forbids it, or has no such thing.
    No(StatusCode, HeaderMap),
    /// It cannot be asked, or does not know at present.
    Away(Option<StatusCode>, String),
}

#[derive(Debug)]
pub struct Access {
    upstream: Upstream,
    yes: Mutex<HashMap<(Repository, [u8; 32]), Instant>>,
}

impl Access {
    pub fn new(upstream: Upstream) -> Self {
        Self {
            upstream,
            yes: Mutex::default(),
        }
    }

    pub fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    /// The registry said so lately, of the caller or of anybody.
    pub fn is_fresh(&self, repository: &Repository, caller: &Caller) -> bool {
        self.said_within(repository, caller, FRESH)
    }

    /// It said so once; good enough while it is away.
    pub fn is_stale(&self, repository: &Repository, caller: &Caller) -> bool {
        self.said_within(repository, caller, STALE)
    }

    fn said_within(&self, repository: &Repository, caller: &Caller, time: Duration) -> bool {
        let yes = self.yes.lock();
        let said = |caller: &Caller| yes.get(&(repository.clone(), caller.hash()));
        [said(caller), said(&Caller::anybody())]
            .into_iter()
            .flatten()
            .any(|at| at.elapsed() < time)
    }

    /// Remembers that the registry served something of the repository.
    pub fn served(&self, repository: &Repository, caller: &Caller) {
        let mut yes = self.yes.lock();
        if yes.len() >= MOST {
            yes.retain(|_, at| at.elapsed() < FRESH);
        }
        if yes.len() < MOST {
            yes.insert((repository.clone(), caller.hash()), Instant::now());
        }
    }

    /// Asks the registry whether the caller would get this.
    pub async fn ask(&self, asked: &Asked, caller: &Caller) -> Verdict {
        let answer = self.upstream.ask(&Method::HEAD, asked, caller, None).await;
        match answer {
            Ok(answer) => {
                let verdict = verdict(answer.status(), answer.headers().clone());
                if matches!(verdict, Verdict::Yes(_)) {
                    self.served(&asked.repository, caller);
                }
                verdict
            }
            Err(error) => Verdict::of(&error),
        }
    }
}

impl Verdict {
    pub(crate) fn of(error: &Away) -> Self {
        let status = matches!(error, Away::Resting(_)).then_some(StatusCode::TOO_MANY_REQUESTS);
        Self::Away(status, error.to_string())
    }
}

pub(crate) fn verdict(status: StatusCode, headers: HeaderMap) -> Verdict {
    match status {
        status if status.is_success() => Verdict::Yes(headers),
        // To where it keeps blobs: whom it does not serve it leads nowhere.
        status if status.is_redirection() => Verdict::Yes(HeaderMap::new()),
        StatusCode::TOO_MANY_REQUESTS => Verdict::Away(
            Some(status),
            "the registry wants to be left alone for a while".to_owned(),
        ),
        status if status.is_client_error() => Verdict::No(status, headers),
        status => Verdict::Away(Some(status), format!("the registry answered {status}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_answer_means() {
        let of = |status: u16| verdict(StatusCode::from_u16(status).unwrap(), HeaderMap::new());
        for status in [200, 307] {
            assert!(matches!(of(status), Verdict::Yes(_)), "{status}");
        }
        for status in [401, 403, 404] {
            assert!(matches!(of(status), Verdict::No(..)), "{status}");
        }
        for status in [429, 500, 502, 503] {
            assert!(matches!(of(status), Verdict::Away(..)), "{status}");
        }
    }
}
