//! A mirror's answers.

use std::{io, path::Path, sync::Arc, time::Duration};

use airside_model::chain;
use airside_oci::{ByteRange, Digest, MAX_DOCUMENT_BYTES, OutsideRange, Repository, TagOrDigest};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use crate::{
    AccessAnswer, AskedThing, Caller, MirrorAnswer, Reply, Storage, Upstream, UpstreamAccess, What,
    access::{proves, verdict},
    answer::{Head, failure, refusal},
    flight::{Flights, NotBegun, StorageLook},
    storage::NoteName,
};

/// Time for which a repository counts as public while its registry is away.
const PUBLIC: Duration = Duration::from_secs(7 * 24 * 3600);
/// Least time between two notes that a repository is public.
const PUBLIC_AGAIN: Duration = Duration::from_secs(3600);
/// Bytes beyond any layer in use; a bound on what one answer can do to the disk.
const LARGEST_BLOB: u64 = 64 << 30;

/// Cheap to clone.
#[derive(Clone)]
pub struct Mirror(Arc<Inner>);

struct Inner {
    access: UpstreamAccess,
    storage: Arc<dyn Storage>,
    flights: Flights,
}

/// One request.
pub(crate) struct Request<'a> {
    pub(crate) asked: &'a AskedThing,
    pub(crate) caller: &'a Caller,
    pub(crate) range: Option<&'a HeaderValue>,
    pub(crate) is_head: bool,
}

/// Answer of the registry to the question if the caller may have a thing.
enum Permit {
    Fresh,
    /// The registry is away, and gave it to the caller a while ago.
    Stale,
    Refused(MirrorAnswer),
}

impl Mirror {
    /// Opens a mirror. `spool` is for content that is being fetched; with a [`crate::Folder`] it
    /// must be on the same file system.
    pub fn open(upstream: Upstream, storage: Arc<dyn Storage>, spool: &Path) -> io::Result<Self> {
        Ok(Self(Arc::new(Inner {
            access: UpstreamAccess::new(upstream),
            storage,
            flights: Flights::open(spool)?,
        })))
    }

    pub(crate) fn storage(&self) -> &Arc<dyn Storage> {
        &self.0.storage
    }

    pub(crate) async fn answer(&self, request: &Request<'_>) -> MirrorAnswer {
        let host = request.asked.repository.host();
        if !self.0.access.upstream().knows(host) {
            let words = format!("{host} is not mirrored here");
            return failure(StatusCode::NOT_FOUND, &words);
        }
        let answered = match request.asked.digest() {
            Some(digest) => self.content(request, digest, false).await,
            None => self.tag(request).await,
        };
        answered.unwrap_or_else(|error| {
            tracing::error!(
                error = %chain(&error),
                thing = request.asked.path(),
                "storage not read or written"
            );
            failure(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the mirror failed; its log says why",
            )
        })
    }

    /// Serves a tag. The registry resolves it; only while the registry is away its last answer
    /// counts.
    async fn tag(&self, request: &Request<'_>) -> io::Result<MirrorAnswer> {
        let AskedThing { repository, what } = request.asked;
        let What::Manifest(TagOrDigest::Tag(tag)) = what else {
            return Ok(failure(StatusCode::NOT_FOUND, "the reference is not a tag"));
        };
        let note = NoteName::tag(repository, tag.as_str());
        match self.0.access.ask(request.asked, request.caller, None).await {
            AccessAnswer::Yes(headers) => {
                let digest = headers.get("docker-content-digest");
                let digest = digest.and_then(|text| Digest::parse(text.to_str().ok()?).ok());
                let Some(digest) = digest else {
                    let words = "the registry does not say which content the tag has";
                    return Ok(failure(StatusCode::NOT_FOUND, words));
                };
                self.note_public(repository, request.caller).await?;
                self.0
                    .storage
                    .write_note(&note, &digest.to_string())
                    .await?;
                self.same(request, &digest, false).await
            }
            AccessAnswer::No(status, headers) => Ok(refusal(status, &headers)),
            AccessAnswer::Away(status, words) => {
                let known = self.0.storage.note(&note).await?;
                let known = known.and_then(|note| Digest::parse(&note.text).ok());
                let Some(digest) = known else {
                    return Ok(away(status, &words));
                };
                tracing::warn!(
                    %repository,
                    %tag,
                    reason = words,
                    "registry away; last known digest of the tag served"
                );
                self.same(request, &digest, true).await
            }
        }
    }

    async fn same(
        &self,
        request: &Request<'_>,
        digest: &Digest,
        is_stale: bool,
    ) -> io::Result<MirrorAnswer> {
        let asked = request.asked.at(digest);
        let request = Request {
            asked: &asked,
            ..*request
        };
        Box::pin(self.content(&request, digest, is_stale)).await
    }

    async fn content(
        &self,
        request: &Request<'_>,
        digest: &Digest,
        is_stale: bool,
    ) -> io::Result<MirrorAnswer> {
        if let Some(answer) = self.stored(request, digest, is_stale).await? {
            return Ok(answer);
        }
        if request.is_head {
            return self.look(request, digest).await;
        }
        if let Some(answer) = self.fetched(request, digest, StorageLook::Again).await? {
            return Ok(answer);
        }
        if let Some(answer) = self.stored(request, digest, is_stale).await? {
            return Ok(answer);
        }
        let answer = self.fetched(request, digest, StorageLook::NoMore).await?;
        answer.ok_or_else(|| io::Error::other("content is neither kept nor fetched"))
    }

    /// Returns what is stored; none if it is not there.
    async fn stored(
        &self,
        request: &Request<'_>,
        digest: &Digest,
        is_stale: bool,
    ) -> io::Result<Option<MirrorAnswer>> {
        let Some(size) = self.0.storage.size(digest).await? else {
            return Ok(None);
        };
        let is_stale = match self.permit(request, digest, Some(size)).await? {
            Permit::Fresh => is_stale,
            Permit::Stale => true,
            Permit::Refused(refused) => return Ok(Some(refused)),
        };
        match self.kept(request, digest, size, is_stale).await {
            // Removed as garbage meanwhile: as if it had not been there.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            answered => answered.map(Some),
        }
    }

    /// Returns true if the caller would get content of this size from the registry too.
    async fn permit(
        &self,
        request: &Request<'_>,
        digest: &Digest,
        size: Option<u64>,
    ) -> io::Result<Permit> {
        let Request { asked, caller, .. } = request;
        let repository = &asked.repository;
        let link = NoteName::link(repository, digest);
        let is_linked = self.0.storage.note(&link).await?.is_some();
        if is_linked && self.0.access.is_fresh(repository, caller) {
            return Ok(Permit::Fresh);
        }
        match self.0.access.ask(asked, caller, size).await {
            AccessAnswer::Yes(headers) => {
                if self.0.access.is_fresh(repository, caller) {
                    self.note_public(repository, caller).await?;
                }
                if !is_linked {
                    self.0
                        .storage
                        .write_note(&link, kind(asked, &headers))
                        .await?;
                }
                Ok(Permit::Fresh)
            }
            AccessAnswer::No(status, headers) => Ok(Permit::Refused(refusal(status, &headers))),
            AccessAnswer::Away(status, words) => {
                let public = self.0.storage.note(&NoteName::public(repository)).await?;
                let is_public = public.is_some_and(|note| note.age < PUBLIC);
                if is_linked && (is_public || self.0.access.is_stale(repository, caller)) {
                    tracing::warn!(
                        %repository,
                        %digest,
                        reason = words,
                        "registry away; kept content served without its answer"
                    );
                    return Ok(Permit::Stale);
                }
                Ok(Permit::Refused(away(status, &words)))
            }
        }
    }

    async fn note_public(&self, repository: &Repository, caller: &Caller) -> io::Result<()> {
        if !caller.is_anybody() {
            return Ok(());
        }
        let name = NoteName::public(repository);
        let known = self.0.storage.note(&name).await?;
        if known.is_some_and(|note| note.age < PUBLIC_AGAIN) {
            return Ok(());
        }
        self.0.storage.write_note(&name, "").await
    }

    async fn kept(
        &self,
        request: &Request<'_>,
        digest: &Digest,
        size: u64,
        is_stale: bool,
    ) -> io::Result<MirrorAnswer> {
        let link = NoteName::link(&request.asked.repository, digest);
        let link = self.0.storage.note(&link).await?;
        let kind = link.map(|note| note.text).filter(|text| !text.is_empty());
        let Ok(range) = read_range(request, size) else {
            return Ok(outside(size));
        };
        let length = range.map_or(size, ByteRange::length);
        let head = Head {
            digest,
            kind: kind.as_deref(),
            length: Some(length),
            part: range.map(|range| (range.first, size)),
            is_stale,
        };
        if request.is_head {
            return Ok(head.with(None));
        }
        let first = range.map_or(0, |range| range.first);
        let pieces = self.0.storage.read(digest, first, length).await?;
        Ok(head.with(Some(pieces)))
    }

    /// Passes on the registry's answer about content that is not kept.
    async fn look(&self, request: &Request<'_>, digest: &Digest) -> io::Result<MirrorAnswer> {
        let Request { asked, caller, .. } = request;
        match self.0.access.ask(asked, caller, None).await {
            AccessAnswer::Yes(headers) => {
                if self.0.access.is_fresh(&asked.repository, caller) {
                    self.note_public(&asked.repository, caller).await?;
                }
                let kind = headers.get(header::CONTENT_TYPE);
                let length = headers.get(header::CONTENT_LENGTH);
                let head = Head {
                    digest,
                    kind: kind.and_then(|kind| kind.to_str().ok()),
                    length: length.and_then(|text| text.to_str().ok()?.parse().ok()),
                    part: None,
                    is_stale: false,
                };
                Ok(head.with(None))
            }
            AccessAnswer::No(status, headers) => Ok(refusal(status, &headers)),
            AccessAnswer::Away(status, words) => Ok(away(status, &words)),
        }
    }

    /// Serves content while it is fetched; none if another mirror brought it meanwhile.
    async fn fetched(
        &self,
        request: &Request<'_>,
        digest: &Digest,
        look: StorageLook,
    ) -> io::Result<Option<MirrorAnswer>> {
        let Request { asked, caller, .. } = request;
        let mut is_first = false;
        let start = async {
            is_first = true;
            self.begin(asked, caller).await
        };
        let Inner {
            flights, storage, ..
        } = &*self.0;
        let most = largest(asked);
        let flight = match flights.join(digest, storage, look, most, start).await {
            Ok(flight) => flight,
            Err(NotBegun::Refused(refused)) => return Ok(Some(*refused)),
            Err(NotBegun::Kept) => return Ok(None),
            Err(NotBegun::Failed(error)) => return Err(error),
        };
        if is_first {
            if self.0.access.is_fresh(&asked.repository, caller) {
                self.note_public(&asked.repository, caller).await?;
            }
            let link = NoteName::link(&asked.repository, digest);
            let kind = flight.kind.as_deref().filter(|_| is_manifest(asked));
            self.0
                .storage
                .write_note(&link, kind.unwrap_or_default())
                .await?;
        } else if let Permit::Refused(refused) = self.permit(request, digest, flight.size).await? {
            return Ok(Some(refused));
        }
        let range = match flight.size.map(|size| read_range(request, size)) {
            Some(Err(OutsideRange { size })) => return Ok(Some(outside(size))),
            Some(Ok(range)) => range,
            None => None,
        };
        let length = range.map(ByteRange::length).or(flight.size);
        let first = range.map_or(0, |range| range.first);
        let pieces = match flight.read(first, length).await {
            Ok(pieces) => pieces,
            Err(error) => return Ok(Some(away(None, &chain(&error)))),
        };
        let head = Head {
            digest,
            kind: flight.kind.as_deref().filter(|_| is_manifest(asked)),
            length,
            part: range
                .zip(flight.size)
                .map(|(range, size)| (range.first, size)),
            is_stale: false,
        };
        Ok(Some(head.with(Some(pieces))))
    }

    /// Asks the registry for it, as the caller.
    async fn begin(&self, asked: &AskedThing, caller: &Caller) -> Result<Reply, Box<MirrorAnswer>> {
        let upstream = self.0.access.upstream();
        let reply = upstream.ask(&Method::GET, asked, caller, None).await;
        let reply = reply.map_err(|error| match AccessAnswer::of(&error) {
            AccessAnswer::Away(status, words) => Box::new(away(status, &words)),
            AccessAnswer::Yes(_) | AccessAnswer::No(..) => Box::new(away(None, &chain(&error))),
        })?;
        let size = reply.headers().get(header::CONTENT_LENGTH);
        let size: Option<u64> = size.and_then(|size| size.to_str().ok()?.parse().ok());
        if size.is_some_and(|size| size > largest(asked)) {
            let words = "the registry's content is larger than any";
            return Err(Box::new(failure(StatusCode::BAD_GATEWAY, words)));
        }
        if proves(asked, None, reply.status(), reply.headers()) {
            self.0.access.served(&asked.repository, caller);
        }
        match verdict(asked, None, reply.status(), reply.headers().clone()) {
            AccessAnswer::Yes(_) => Ok(reply),
            AccessAnswer::No(status, headers) => Err(Box::new(refusal(status, &headers))),
            AccessAnswer::Away(status, words) => Err(Box::new(away(status, &words))),
        }
    }
}

/// Returns the part of the content that is asked for; `None` for all of it.
fn read_range(request: &Request<'_>, size: u64) -> Result<Option<ByteRange>, OutsideRange> {
    let header = request.range.and_then(|range| range.to_str().ok());
    header.map_or(Ok(None), |header| ByteRange::parse(header, size))
}

/// The bytes that a thing may have.
fn largest(asked: &AskedThing) -> u64 {
    if is_manifest(asked) {
        MAX_DOCUMENT_BYTES as u64
    } else {
        LARGEST_BLOB
    }
}

fn is_manifest(asked: &AskedThing) -> bool {
    matches!(asked.what, What::Manifest(_))
}

/// The type of a manifest; that of a blob says nothing.
fn kind<'a>(asked: &AskedThing, headers: &'a HeaderMap) -> &'a str {
    let kind = headers
        .get(header::CONTENT_TYPE)
        .filter(|_| is_manifest(asked));
    kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default()
}

fn outside(size: u64) -> MirrorAnswer {
    let mut answer = failure(
        StatusCode::RANGE_NOT_SATISFIABLE,
        "the range begins after the end of the content",
    );
    if let Ok(value) = HeaderValue::from_str(&format!("bytes */{size}")) {
        answer.headers_mut().insert(header::CONTENT_RANGE, value);
    }
    answer
}

/// Runtimes go to the registry themselves then.
fn away(status: Option<StatusCode>, words: &str) -> MirrorAnswer {
    failure(status.unwrap_or(StatusCode::BAD_GATEWAY), words)
}
