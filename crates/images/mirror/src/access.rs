//! Access: which callers a registry serves. Only the registry's own answer counts, and only for a
//! short while.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use airside_oci::{Digest, Repository};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use crate::{AskedThing, Away, Upstream, What};

/// Time for which a registry's yes counts without another request.
const FRESH: Duration = Duration::from_secs(300);
/// Time for which a registry's yes counts while it cannot be asked.
const STALE: Duration = Duration::from_secs(3600);
/// Number of answers that are remembered; a forgotten one is only asked for again.
const MAX_ANSWERS: usize = 10_000;

/// A caller by the login that it sent, which is never kept as it is and never shown.
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

/// Answer of a registry about one thing and one caller.
#[derive(Debug)]
pub enum AccessAnswer {
    /// The registry has it, with these headers.
    Yes(HeaderMap),
    /// The answer for the caller: it asks for a login, forbids it, or has no such thing.
    No(StatusCode, HeaderMap),
    /// The registry cannot be asked, or does not know at present.
    Away(Option<StatusCode>, String),
}

#[derive(Debug)]
pub struct UpstreamAccess {
    upstream: Upstream,
    yes: Mutex<HashMap<(Repository, [u8; 32]), Instant>>,
}

impl UpstreamAccess {
    pub fn new(upstream: Upstream) -> Self {
        Self {
            upstream,
            yes: Mutex::default(),
        }
    }

    pub fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    /// Returns true if the registry allowed it lately, to the caller or to callers without a login.
    pub fn is_fresh(&self, repository: &Repository, caller: &Caller) -> bool {
        self.said_within(repository, caller, FRESH)
    }

    /// Returns true if the registry allowed it once, which is good enough while it is away.
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
        if yes.len() >= MAX_ANSWERS {
            yes.retain(|_, at| at.elapsed() < FRESH);
        }
        if yes.len() < MAX_ANSWERS {
            yes.insert((repository.clone(), caller.hash()), Instant::now());
        }
    }

    /// Asks the registry if the caller would get this. `kept` is the size of the kept content, if
    /// there is any.
    pub async fn ask(
        &self,
        asked: &AskedThing,
        caller: &Caller,
        kept: Option<u64>,
    ) -> AccessAnswer {
        let answer = self.upstream.ask(&Method::HEAD, asked, caller, None).await;
        let (status, headers) = match answer {
            Ok(answer) => (answer.status(), answer.headers().clone()),
            Err(error) => return AccessAnswer::of(&error),
        };
        if let (true, true, Some(size)) = (status.is_redirection(), is_blob(asked), kept) {
            return self.follow(asked, caller, size).await;
        }
        if proves(asked, kept, status, &headers) {
            self.served(&asked.repository, caller);
        }
        verdict(asked, kept, status, headers)
    }

    /// Follows a registry's redirection for a kept blob: it leads to the blob, or to a page that
    /// asks for a login.
    async fn follow(&self, asked: &AskedThing, caller: &Caller, size: u64) -> AccessAnswer {
        let first = HeaderValue::from_static("bytes=0-0");
        let answer = self
            .upstream
            .ask(&Method::GET, asked, caller, Some(&first))
            .await;
        match answer {
            Ok(answer) if leads_to(answer.status(), answer.headers(), size) => {
                self.served(&asked.repository, caller);
                AccessAnswer::Yes(HeaderMap::new())
            }
            Ok(answer) if answer.status().is_success() => AccessAnswer::nothing_like_it(),
            Ok(answer) => verdict(asked, Some(size), answer.status(), answer.headers().clone()),
            Err(error) => AccessAnswer::of(&error),
        }
    }
}

impl AccessAnswer {
    /// Returns the verdict on an answer that is not the thing: to the caller, the registry does not
    /// have it.
    fn nothing_like_it() -> Self {
        Self::No(StatusCode::NOT_FOUND, HeaderMap::new())
    }

    pub(crate) fn of(error: &Away) -> Self {
        let status = matches!(error, Away::Resting(_)).then_some(StatusCode::TOO_MANY_REQUESTS);
        Self::Away(status, airside_model::chain(&error))
    }
}

/// An answer's own words about whether it is the thing that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Likeness {
    Same,
    /// The answer is something else, such as a page where people log in.
    Other,
    Unsaid,
}

fn likeness(asked: &AskedThing, kept: Option<u64>, headers: &HeaderMap) -> Likeness {
    let of = |is_same: bool| {
        if is_same {
            Likeness::Same
        } else {
            Likeness::Other
        }
    };
    let digest = headers.get("docker-content-digest");
    if let Some(digest) =
        digest.map(|text| text.to_str().ok().and_then(|it| Digest::parse(it).ok()))
    {
        return of(digest.is_some_and(|digest| asked.digest().is_none_or(|it| *it == digest)));
    }
    let kind = headers.get(header::CONTENT_TYPE);
    if kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/html")) {
        return Likeness::Other;
    }
    match kept {
        Some(kept) => of(length(headers) == Some(kept)),
        None => Likeness::Unsaid,
    }
}

fn length(headers: &HeaderMap) -> Option<u64> {
    let length = headers.get(header::CONTENT_LENGTH)?;
    length.to_str().ok()?.parse().ok()
}

fn is_blob(asked: &AskedThing) -> bool {
    matches!(asked.what, What::Blob(_))
}

/// Returns true if an answer to a request for the first byte of a blob is of one with this size.
fn leads_to(status: StatusCode, headers: &HeaderMap, size: u64) -> bool {
    if status == StatusCode::PARTIAL_CONTENT {
        let range = headers.get(header::CONTENT_RANGE);
        let whole = range.and_then(|range| range.to_str().ok()?.rsplit_once('/'));
        return whole.is_some_and(|(_, whole)| whole.parse() == Ok(size));
    }
    status == StatusCode::OK && length(headers) == Some(size)
}

/// Returns true if an answer shows that the registry serves the caller, so that it need not be
/// asked again for a while.
pub(crate) fn proves(
    asked: &AskedThing,
    kept: Option<u64>,
    status: StatusCode,
    headers: &HeaderMap,
) -> bool {
    status.is_success() && likeness(asked, kept, headers) == Likeness::Same
}

pub(crate) fn verdict(
    asked: &AskedThing,
    kept: Option<u64>,
    status: StatusCode,
    headers: HeaderMap,
) -> AccessAnswer {
    match status {
        status if status.is_success() => match likeness(asked, kept, &headers) {
            Likeness::Same | Likeness::Unsaid => AccessAnswer::Yes(headers),
            Likeness::Other => AccessAnswer::nothing_like_it(),
        },
        // Registries lead to where they keep blobs, and to no other thing.
        status if status.is_redirection() && is_blob(asked) => AccessAnswer::Yes(HeaderMap::new()),
        status if status.is_redirection() => AccessAnswer::nothing_like_it(),
        StatusCode::TOO_MANY_REQUESTS => AccessAnswer::Away(
            Some(status),
            "the registry wants to be left alone for a while".to_owned(),
        ),
        status if status.is_client_error() => AccessAnswer::No(status, headers),
        status => AccessAnswer::Away(Some(status), format!("the registry answered {status}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(kind: &str) -> AskedThing {
        let path = format!("/v2/a/{kind}/sha256:{}", "a".repeat(64));
        AskedThing::parse(&path, Some("ns=r.example")).unwrap()
    }

    fn headers(pairs: &[(&'static str, String)]) -> HeaderMap {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| {
                let name = header::HeaderName::from_static(name);
                (name, HeaderValue::from_str(value).unwrap())
            })
            .collect()
    }

    #[test]
    fn what_an_answer_means() {
        let of = |kind: &str, status: u16| {
            let status = StatusCode::from_u16(status).unwrap();
            verdict(&asked(kind), None, status, HeaderMap::new())
        };
        assert!(matches!(of("manifests", 200), AccessAnswer::Yes(_)));
        assert!(matches!(of("blobs", 307), AccessAnswer::Yes(_)));
        for status in [302, 307, 401, 403, 404] {
            assert!(
                matches!(of("manifests", status), AccessAnswer::No(..)),
                "{status}"
            );
        }
        for status in [429, 500, 502, 503] {
            assert!(
                matches!(of("blobs", status), AccessAnswer::Away(..)),
                "{status}"
            );
        }
    }

    #[test]
    fn hostile_pages_are_no_yes() {
        let digest = |letter: &str| {
            (
                "docker-content-digest",
                format!("sha256:{}", letter.repeat(64)),
            )
        };
        let size = |bytes: u64| ("content-length", bytes.to_string());
        let page = ("content-type", "text/html; charset=utf-8".to_owned());
        for (answer, expected) in [
            (vec![digest("a"), size(7)], Likeness::Same),
            (vec![digest("b"), size(5)], Likeness::Other),
            (
                vec![("docker-content-digest", "x".to_owned())],
                Likeness::Other,
            ),
            (vec![size(5)], Likeness::Same),
            (vec![size(7)], Likeness::Other),
            (vec![], Likeness::Other),
            (vec![page.clone(), size(5)], Likeness::Other),
        ] {
            let found = likeness(&asked("manifests"), Some(5), &headers(&answer));
            assert_eq!(found, expected, "{answer:?}");
        }
        let unkept = likeness(&asked("blobs"), None, &headers(&[size(7)]));
        assert_eq!(unkept, Likeness::Unsaid);
        let unkept = likeness(&asked("blobs"), None, &headers(&[page]));
        assert_eq!(unkept, Likeness::Other);
    }
}
