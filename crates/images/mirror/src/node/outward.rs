//! The port for agents of other nodes, and for no other client.

use std::{net::SocketAddr, str::FromStr, sync::Arc};

use crate::{MirrorAnswer, failure};
use airside_oci::Digest;
use bytes::Bytes;
use futures::StreamExt as _;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use url::form_urlencoded;

use super::sharing::Sharing;

pub(crate) async fn answer(sharing: &Arc<Sharing>, request: Request<Incoming>) -> MirrorAnswer {
    if !sharing.proof.is_agent(request.headers()).await {
        let words = "only agents of this cluster's nodes are served here";
        return failure(StatusCode::UNAUTHORIZED, words);
    }
    let path = request.uri().path().strip_prefix("/v1/");
    let found = path.and_then(|path| path.split_once('/'));
    let found = found.and_then(|(what, digest)| Some((what, Digest::parse(digest).ok()?)));
    let who = parameter::<SocketAddr>(&request, "who");
    match (request.method(), found, who) {
        (&Method::GET, Some(("blobs", digest)), _) => blob(sharing, &digest).await,
        (&Method::POST, Some(("turns", digest)), Some(who)) => {
            let turn = sharing.turn_here(&digest, who).await;
            text(serde_json::to_vec(&turn).unwrap_or_default())
        }
        (&Method::POST, Some(("ended", digest)), Some(who)) => {
            let has = parameter(&request, "has").unwrap_or(false);
            sharing.ended_here(&digest, who, has);
            text(Vec::new())
        }
        _ => failure(
            StatusCode::NOT_FOUND,
            "only blobs for other node agents are served here",
        ),
    }
}

fn parameter<T: FromStr>(request: &Request<Incoming>, name: &str) -> Option<T> {
    let query = request.uri().query().unwrap_or_default();
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    pairs.find_map(|(key, value)| (key == name).then(|| value.parse().ok())?)
}

fn text(text: Vec<u8>) -> MirrorAnswer {
    let body = Full::new(Bytes::from(text));
    Response::new(body.map_err(|never| match never {}).boxed_unsync())
}

async fn blob(sharing: &Sharing, digest: &Digest) -> MirrorAnswer {
    let size = match sharing.runtime.blob_size(digest).await {
        Ok(Some(size)) => size,
        Ok(None) => return failure(StatusCode::NOT_FOUND, "this node does not have the blob"),
        Err(error) => return failure(StatusCode::BAD_GATEWAY, &airside_model::chain(&error)),
    };
    match sharing.runtime.read_blob(digest, 0, size).await {
        Ok(pieces) => {
            let frames = pieces.map(|piece| piece.map(Frame::data));
            let mut answer = Response::new(StreamBody::new(frames).boxed_unsync());
            let headers = answer.headers_mut();
            headers.insert(header::CONTENT_LENGTH, size.into());
            let kind = HeaderValue::from_static("application/octet-stream");
            headers.insert(header::CONTENT_TYPE, kind);
            answer
        }
        Err(error) => failure(StatusCode::BAD_GATEWAY, &airside_model::chain(&error)),
    }
}
