//! The mirror's own server. Who listens and until when is the caller's business.

use std::sync::Arc;

use airside_serve::ServeOptions;
use http::{Method, Request, StatusCode, header};
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{
    AskedThing, Caller, Mirror, MirrorAnswer,
    answer::{empty, failure},
    serve::Request as Question,
};

/// Serves until the shutdown, then for a while the pulls that are under way: replicas come and go
/// with the load, and no pull is to break for that.
pub async fn serve(listener: TcpListener, mirror: Mirror, shutdown: CancellationToken) {
    let options = ServeOptions::new("mirror connection");
    let answer = move |request: Request<Incoming>| {
        let mirror = mirror.clone();
        async move { answer(&mirror, &request).await }
    };
    airside_serve::serve(Arc::new(listener), options, answer, shutdown).await;
}

async fn answer(mirror: &Mirror, request: &Request<Incoming>) -> MirrorAnswer {
    let is_head = request.method() == Method::HEAD;
    if !is_head && request.method() != Method::GET {
        let words = "images are only pulled here";
        return failure(StatusCode::METHOD_NOT_ALLOWED, words);
    }
    if matches!(request.uri().path(), "/healthz" | "/v2" | "/v2/") {
        return empty(StatusCode::OK);
    }
    let asked = match AskedThing::parse(request.uri().path(), request.uri().query()) {
        Ok(asked) => asked,
        Err(error) => return failure(StatusCode::NOT_FOUND, &airside_model::chain(&error)),
    };
    mirror
        .answer(&Question {
            asked: &asked,
            caller: &Caller::of(request.headers()),
            range: request.headers().get(header::RANGE),
            is_head,
        })
        .await
}
