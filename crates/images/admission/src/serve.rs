//! The door that the API server knocks at: HTTP over TLS, two paths.

use std::{sync::Arc, time::Duration};

use airside_model::chain;
use airside_serve::{ServeOptions, text};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio_rustls::rustls::ServerConfig;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::{review, review::Rules, watch::ViewReceiver};

pub const REVIEW_PATH: &str = "/v1/review";
const NOT_READY: &str = "sets and nodes are not known yet\n";

pub const READY_PATH: &str = "/v1/ready";

/// Objects are at most 1.5 MB in etcd, and a review has two of them.
const MAX_REVIEW_BYTES: usize = 8 << 20;
/// Time for the next request. The API server keeps a connection that it does not need for 90
/// seconds, and should be the one that closes it: a handshake takes longer than an answer, and it
/// does not resume sessions.
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);

#[derive(Clone)]
pub(crate) struct Door {
    pub(crate) seen: ViewReceiver,
    pub(crate) rules: Arc<Rules>,
}

/// Serves until the shutdown; requests that came before it are answered.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    door: Door,
    shutdown: CancellationToken,
) {
    let options = ServeOptions {
        head_timeout: IDLE_TIMEOUT,
        ..ServeOptions::new("admission connection").with_tls(tls)
    };
    let answer = move |request| door.clone().answer(request);
    airside_serve::serve(Arc::new(listener), options, answer, shutdown).await;
}

impl Door {
    async fn answer(self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        match (request.method(), request.uri().path()) {
            (&Method::GET, READY_PATH) => {
                if self.seen.borrow().is_some() {
                    text(StatusCode::OK, "ready\n")
                } else {
                    text(StatusCode::SERVICE_UNAVAILABLE, NOT_READY)
                }
            }
            (&Method::POST, REVIEW_PATH) => self.review(request).await,
            _ => text(StatusCode::NOT_FOUND, "no such endpoint\n"),
        }
    }

    async fn review(self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let Some(view) = self.seen.borrow().clone() else {
            return text(StatusCode::SERVICE_UNAVAILABLE, NOT_READY);
        };
        let Ok(body) = Limited::new(request.into_body(), MAX_REVIEW_BYTES)
            .collect()
            .await
        else {
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
                text(StatusCode::BAD_REQUEST, "that is not an AdmissionReview\n")
            }
        }
    }
}

#[cfg(test)]
mod tests;
