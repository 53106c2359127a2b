//! Answers, and errors in the form that clients of registries read.

use std::io;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Empty, Full, combinators::UnsyncBoxBody};
use serde::Serialize;

use crate::Error;

/// Body of an answer: nothing, a text, or a blob as it is read from the disk.
pub type RegistryBody = UnsyncBoxBody<Bytes, io::Error>;

pub(crate) type RegistryAnswer = Response<RegistryBody>;

/// Challenge that tells clients how to log in.
const CHALLENGE: &str = "Basic realm=\"airside\"";

pub(crate) fn empty(status: StatusCode) -> RegistryAnswer {
    let body = Empty::new().map_err(|never| match never {}).boxed_unsync();
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer
        .headers_mut()
        .insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    answer
}

pub(crate) fn text(status: StatusCode, kind: &str, text: impl Into<Bytes>) -> RegistryAnswer {
    let text = text.into();
    let mut answer = empty(status);
    set(&mut answer, "content-type", kind);
    set(&mut answer, "content-length", text.len());
    *answer.body_mut() = Full::new(text)
        .map_err(|never| match never {})
        .boxed_unsync();
    answer
}

pub(crate) fn json(status: StatusCode, kind: &str, value: &impl Serialize) -> RegistryAnswer {
    let written = serde_json::to_vec(value).expect("plain fields become JSON");
    text(status, kind, written)
}

/// All values are ours: digests, names that were checked, numbers.
pub(crate) fn set(answer: &mut RegistryAnswer, name: &'static str, value: impl ToString) {
    if let Ok(value) = HeaderValue::from_str(&value.to_string()) {
        answer.headers_mut().insert(name, value);
    }
}

/// Removes the body of an answer, for HEAD.
pub(crate) fn headers_only(mut answer: RegistryAnswer) -> RegistryAnswer {
    *answer.body_mut() = Empty::new().map_err(|never| match never {}).boxed_unsync();
    answer
}

impl Error {
    pub(crate) fn answer(&self) -> RegistryAnswer {
        let message = if self.is_internal() {
            "the server failed; its log says why".to_owned()
        } else {
            self.to_string()
        };
        let answer = airside_serve::oci_error(self.status(), self.code(), &message);
        let (parts, body) = answer.into_parts();
        let length = body.size_hint().exact().unwrap_or_default();
        let body = body.map_err(|never| match never {}).boxed_unsync();
        let mut answer = Response::from_parts(parts, body);
        set(&mut answer, "content-length", length);
        match self {
            Self::NoToken | Self::BadToken => set(&mut answer, "www-authenticate", CHALLENGE),
            Self::Range { size } => set(&mut answer, "content-range", format!("bytes */{size}")),
            Self::Piece { has } => set(&mut answer, "range", held(*has)),
            _ => {}
        }
        answer
    }
}

/// Returns the received part of an upload, as the specification writes it.
pub(crate) fn held(written: u64) -> String {
    format!("0-{}", written.saturating_sub(1))
}
