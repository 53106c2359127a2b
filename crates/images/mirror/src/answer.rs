//! Answers, and errors in the form that clients of registries read.

use std::io;

use bytes::Bytes;
use futures::StreamExt as _;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::{BodyExt as _, Empty, StreamBody, combinators::UnsyncBoxBody};

use crate::storage::Pieces;

pub type MirrorBody = UnsyncBoxBody<Bytes, io::Error>;
pub type MirrorAnswer = Response<MirrorBody>;

/// Header of an answer from what is kept, since the registry could not be asked.
const STALE: HeaderName = HeaderName::from_static("airside-stale");
const DIGEST: HeaderName = HeaderName::from_static("docker-content-digest");

/// Headers of a registry's refusal that are passed on.
const REFUSAL: [HeaderName; 3] = [
    header::WWW_AUTHENTICATE,
    header::RETRY_AFTER,
    header::CONTENT_TYPE,
];

pub(crate) fn empty(status: StatusCode) -> MirrorAnswer {
    let body = Empty::new().map_err(|never| match never {}).boxed_unsync();
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer
}

pub fn failure(status: StatusCode, words: &str) -> MirrorAnswer {
    let answer = airside_serve::oci_error(status, airside_serve::oci_code(status), words);
    answer.map(|body| body.map_err(|never| match never {}).boxed_unsync())
}

/// The registry's own refusal, with its question for a login.
pub fn refusal(status: StatusCode, headers: &HeaderMap) -> MirrorAnswer {
    let mut answer = failure(status, "the registry refused it");
    for name in REFUSAL {
        for value in headers.get_all(&name) {
            if name != header::CONTENT_TYPE {
                answer.headers_mut().append(name.clone(), value.clone());
            }
        }
    }
    answer
}

/// Fields of the head of an answer with content.
pub(crate) struct Head<'a> {
    pub(crate) digest: &'a airside_oci::Digest,
    pub(crate) kind: Option<&'a str>,
    /// Length of the body, if it is known.
    pub(crate) length: Option<u64>,
    /// The first byte and the size of the whole, where a part is sent.
    pub(crate) part: Option<(u64, u64)>,
    pub(crate) is_stale: bool,
}

impl Head<'_> {
    /// Returns the answer with this body, or without one for a `HEAD` request.
    pub(crate) fn with(&self, pieces: Option<Pieces>) -> MirrorAnswer {
        let mut answer = empty(match self.part {
            Some(_) => StatusCode::PARTIAL_CONTENT,
            None => StatusCode::OK,
        });
        let mut set = |name: HeaderName, value: String| {
            if let Ok(value) = HeaderValue::from_str(&value) {
                answer.headers_mut().insert(name, value);
            }
        };
        set(DIGEST, self.digest.to_string());
        let kind = self.kind.unwrap_or("application/octet-stream");
        set(header::CONTENT_TYPE, kind.to_owned());
        set(header::ACCEPT_RANGES, "bytes".to_owned());
        if let Some(length) = self.length {
            set(header::CONTENT_LENGTH, length.to_string());
        }
        if let (Some((first, size)), Some(length)) = (self.part, self.length) {
            let last = first + length - 1;
            set(
                header::CONTENT_RANGE,
                format!("bytes {first}-{last}/{size}"),
            );
        }
        if self.is_stale {
            set(STALE, "true".to_owned());
        }
        if let Some(pieces) = pieces {
            let frames = pieces.map(|piece| piece.map(Frame::data));
            *answer.body_mut() = StreamBody::new(frames).boxed_unsync();
        }
        answer
    }
}
