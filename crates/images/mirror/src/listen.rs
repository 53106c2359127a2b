//! The mirror's own server. Who listens and until when is the caller's business.

use std::{convert::Infallible, pin::pin, time::Duration};

use airside_model::chain;
use http::{Method, Request, StatusCode, header};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Answer, Asked, Caller, Mirror,
    answer::{empty, failure},
    serve::Request as Question,
};

/// For the head of a request.
const ASK: Duration = Duration::from_secs(30);

/// For what is under way at the shutdown: replicas come and go with the load, and nobody's pull is to break for that.
/// Less than a pod has between being told and being killed.
const LAST: Duration = Duration::from_secs(25);

/// Serves until the shutdown, then for a while what is under way.
pub async fn serve(listener: TcpListener, mirror: Mirror, shutdown: CancellationToken) {
    let attended = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = shutdown.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let attending = attend(mirror.clone(), stream, shutdown.clone());
                drop(attended.spawn(airside_tasks::named("mirror connection", attending)));
            }
            // Out of files, say: there will be some again.
            Err(error) => {
                tracing::warn!(error = %chain(&error), "connection to the mirror not accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
    drop(listener);
    attended.close();
    if tokio::time::timeout(LAST, attended.wait()).await.is_err() {
        tracing::warn!(
            connections = attended.len(),
            "pulls cut that did not end in time"
        );
    }
}

async fn attend(mirror: Mirror, stream: TcpStream, shutdown: CancellationToken) {
    let service = service_fn(|request| {
        let mirror = mirror.clone();
        async move { Ok::<_, Infallible>(answer(&mirror, &request).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(ASK)
        .serve_connection(TokioIo::new(stream), service);
    let mut served = pin!(served);
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = shutdown.cancelled() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error = %chain(&error), "connection to the mirror ended early");
    }
}

async fn answer(mirror: &Mirror, request: &Request<Incoming>) -> Answer {
    let is_head = request.method() == Method::HEAD;
    if !is_head && request.method() != Method::GET {
        let words = "images are only pulled here";
        return failure(StatusCode::METHOD_NOT_ALLOWED, words);
    }
    if matches!(request.uri().path(), "/healthz" | "/v2" | "/v2/") {
        return empty(StatusCode::OK);
    }
    let asked = match Asked::parse(request.uri().path(), request.uri().query()) {
        Ok(asked) => asked,
        Err(error) => return failure(StatusCode::NOT_FOUND, &error.to_string()),
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
