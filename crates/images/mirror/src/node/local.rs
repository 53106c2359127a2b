//! The node's own port, which containerd asks before a registry.
//!
//! The registry's answer comes first, by way of the mirror if there is one: no caller gets from
//! another node what the registry would not give it. After any failure here containerd asks the
//! registry itself.

use std::sync::Arc;

use crate::{
    AccessAnswer, AskedThing, Caller, MirrorAnswer, Registries, Reply, UpstreamAccess, What,
    failure, refusal,
};
use airside_model::chain;
use airside_oci::Digest;
use futures::stream;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Empty, StreamBody};
use hyper::body::{Frame, Incoming};

use super::{
    probe::Probe,
    sharing::{Leg, Sharing},
    waves::Turn,
};

/// Number of other nodes that are tried before the registry.
const TRIES: usize = 3;

/// Headers about content that are passed on.
const PASSED: [HeaderName; 8] = [
    header::CONTENT_TYPE,
    header::CONTENT_LENGTH,
    header::CONTENT_RANGE,
    header::ACCEPT_RANGES,
    header::WWW_AUTHENTICATE,
    header::RETRY_AFTER,
    HeaderName::from_static("docker-content-digest"),
    HeaderName::from_static("airside-stale"),
];

pub(crate) struct Local {
    pub(crate) registries: Registries,
    pub(crate) access: UpstreamAccess,
    pub(crate) sharing: Option<Arc<Sharing>>,
    pub(crate) probe: Arc<Probe>,
}

impl Local {
    pub(crate) async fn answer(&self, request: Request<Incoming>) -> MirrorAnswer {
        let (path, query) = (request.uri().path(), request.uri().query());
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let words = "images are only pulled here";
            return failure(StatusCode::METHOD_NOT_ALLOWED, words);
        }
        if matches!(path, "/v2" | "/v2/") {
            return Response::new(Empty::new().map_err(|never| match never {}).boxed_unsync());
        }
        let asked = match AskedThing::parse(path, query) {
            Ok(asked) => asked,
            Err(error) => return failure(StatusCode::NOT_FOUND, &chain(&error)),
        };
        let host = asked.repository.host();
        if self.probe.saw(&asked) || self.registries.base(host).is_none() {
            let words = format!("{host} is not mirrored on this node");
            return failure(StatusCode::NOT_FOUND, &words);
        }
        let caller = Caller::of(request.headers());
        let range = request.headers().get(header::RANGE);
        let shared = self.sharing.as_ref().filter(|it| it.peers.are_others());
        match (shared, &asked.what) {
            (Some(sharing), What::Blob(digest))
                if request.method() == Method::GET && range.is_none() =>
            {
                self.shared(sharing, &asked, digest, &caller).await
            }
            _ => self.pass(request.method(), &asked, &caller, range).await,
        }
    }

    /// Answers by way of the mirror, or from the registry.
    async fn pass(
        &self,
        method: &Method,
        asked: &AskedThing,
        caller: &Caller,
        range: Option<&HeaderValue>,
    ) -> MirrorAnswer {
        match self
            .access
            .upstream()
            .ask(method, asked, caller, range)
            .await
        {
            Ok(reply) => passed(reply, None),
            Err(error) => {
                tracing::warn!(thing = asked.path(), error = %chain(&error), "registry not reached through the mirror; containerd asks it directly");
                failure(StatusCode::BAD_GATEWAY, &chain(&error))
            }
        }
    }

    /// Answers from another node, or fetches the blob for all of them.
    async fn shared(
        &self,
        sharing: &Arc<Sharing>,
        asked: &AskedThing,
        digest: &Digest,
        caller: &Caller,
    ) -> MirrorAnswer {
        match self.access.ask(asked, caller, None).await {
            AccessAnswer::Yes(_) => {}
            AccessAnswer::No(status, headers) => return refusal(status, &headers),
            AccessAnswer::Away(status, words) => {
                return failure(status.unwrap_or(StatusCode::BAD_GATEWAY), &words);
            }
        }
        for _ in 0..TRIES {
            let Turn::From(peer) = sharing.turn(digest).await else {
                break;
            };
            match sharing.read(peer, digest).await {
                Ok(reply) => {
                    tracing::info!(%digest, %peer, "blob fetched from another node");
                    return passed(reply, Some(Leg::start(sharing.clone(), digest.clone())));
                }
                Err(error) => {
                    tracing::info!(%digest, %peer, error = %chain(&error), "blob not found on the other node");
                    sharing.ended(digest, false).await;
                }
            }
        }
        let leg = Leg::start(sharing.clone(), digest.clone());
        let upstream = self.access.upstream();
        match upstream.ask(&Method::GET, asked, caller, None).await {
            Ok(reply) if reply.status().is_success() => {
                tracing::info!(%digest, "blob fetched from its registry for all nodes");
                passed(reply, Some(leg))
            }
            Ok(reply) => passed(reply, None),
            Err(error) => failure(StatusCode::BAD_GATEWAY, &chain(&error)),
        }
    }
}

/// Passes an answer on, and reports to the leg when all of it went through.
fn passed(reply: Reply, leg: Option<Leg>) -> MirrorAnswer {
    let (parts, body) = reply.into_parts();
    let size = parts.headers.get(header::CONTENT_LENGTH);
    let size: Option<u64> = size.and_then(|size| size.to_str().ok()?.parse().ok());
    let body = match leg {
        None => body.map_err(std::io::Error::other).boxed_unsync(),
        Some(leg) => counted(body, size, leg),
    };
    let mut answer = Response::new(body);
    *answer.status_mut() = parts.status;
    for name in PASSED {
        for value in parts.headers.get_all(&name) {
            answer.headers_mut().append(name.clone(), value.clone());
        }
    }
    answer
}

/// Counts the bytes of an answer: the server does not poll behind the end of a known size.
fn counted(body: Incoming, size: Option<u64>, leg: Leg) -> crate::MirrorBody {
    let frames = stream::try_unfold(
        (body, 0u64, leg),
        move |(mut body, count, leg)| async move {
            let Some(frame) = body.frame().await else {
                leg.finish(size.is_none());
                return Ok(None);
            };
            let frame = frame.map_err(std::io::Error::other)?;
            let data = frame.into_data().unwrap_or_default();
            let count = count + data.len() as u64;
            leg.finish(size == Some(count));
            Ok(Some((Frame::data(data), (body, count, leg))))
        },
    );
    StreamBody::new(frames).boxed_unsync()
}
