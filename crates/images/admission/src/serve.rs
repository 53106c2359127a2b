//! The door that the API server knocks at: HTTP over TLS, two paths.

use std::{convert::Infallible, sync::Arc, time::Duration};

use airside_model::chain;
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, rustls::ServerConfig};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::{review, review::Rules, watch::Seen};

pub(crate) const REVIEW_PATH: &str = "/v1/review";
pub(crate) const READY_PATH: &str = "/v1/ready";

/// Objects are at most 1.5 MB in etcd, and a review has two of them.
const LARGEST: usize = 8 << 20;
/// For a handshake.
const PATIENCE: Duration = Duration::from_secs(10);
/// For the next question. The API server keeps a connection that it does not need for 90 seconds, and should be the one
/// who closes it: a handshake takes longer than an answer, and it does not resume sessions.
const IDLE: Duration = Duration::from_secs(120);

#[derive(Clone)]
pub(crate) struct Door {
    pub(crate) seen: Seen,
    pub(crate) rules: Arc<Rules>,
}

/// Serves until the shutdown; what was asked by then is answered.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    door: Door,
    shutdown: CancellationToken,
) {
    let acceptor = TlsAcceptor::from(tls);
    loop {
        let accepted = tokio::select! {
            () = shutdown.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let attended = door
                    .clone()
                    .attend(stream, acceptor.clone(), shutdown.clone());
                drop(airside_tasks::spawn("admission connection", attended));
            }
            // Out of files, say: there will be some again.
            Err(error) => {
                warn!(error = %chain(&error), "connection to the admission webhook not accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

impl Door {
    async fn attend(self, stream: TcpStream, tls: TlsAcceptor, shutdown: CancellationToken) {
        // An answer is one small packet; nothing is gained by waiting for a second.
        let _ = stream.set_nodelay(true);
        let shaken = tokio::time::timeout(PATIENCE, tls.accept(stream)).await;
        let stream = match shaken {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                return debug!(error = %chain(&error), "TLS handshake with the admission webhook failed");
            }
            Err(_) => return debug!("TLS handshake with the admission webhook timed out"),
        };
        let service = service_fn(move |request| {
            let door = self.clone();
            async move { Ok::<_, Infallible>(door.answer(request).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(IDLE)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            ended = &mut connection => ended,
            () = shutdown.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            debug!(error = %chain(&error), "connection to the admission webhook ended early");
        }
    }

    async fn answer(self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        match (request.method(), request.uri().path()) {
            (&Method::GET, READY_PATH) => match self.seen.borrow().is_some() {
                true => text(StatusCode::OK, "ready\n"),
                false => text(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "sets and nodes are not known yet\n",
                ),
            },
            (&Method::POST, REVIEW_PATH) => self.review(request).await,
            _ => text(StatusCode::NOT_FOUND, "there is nothing here\n"),
        }
    }

    async fn review(self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let Some(view) = self.seen.borrow().clone() else {
            return text(
                StatusCode::SERVICE_UNAVAILABLE,
                "sets and nodes are not known yet\n",
            );
        };
        let Ok(body) = Limited::new(request.into_body(), LARGEST).collect().await else {
            return text(StatusCode::PAYLOAD_TOO_LARGE, "that is too large\n");
        };
        match review::answer(&body.to_bytes(), &view, &self.rules) {
            Ok(answer) => {
                let mut response = Response::new(Full::new(Bytes::from(answer)));
                let json = header::HeaderValue::from_static("application/json");
                response.headers_mut().insert(header::CONTENT_TYPE, json);
                response
            }
            Err(error) => {
                debug!(
                    error = %chain(&error),
                    "admission review not understood"
                );
                text(StatusCode::BAD_REQUEST, "that is no AdmissionReview\n")
            }
        }
    }
}

fn text(status: StatusCode, words: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(words.as_bytes())));
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests;
