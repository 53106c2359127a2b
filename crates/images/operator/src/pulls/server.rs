//! Agents' questions over HTTPS. What is answered is decided elsewhere.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use airside_image_rules::{PULLS_PATH, PullGrant, PullLogin, PullRequest};
use airside_model::chain;
use airside_oci::Reference;
use airside_serve::ServeOptions;
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use parking_lot::{Mutex, RwLock};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_rustls::rustls::ServerConfig;
use tokio_util::sync::CancellationToken;

use super::{
    Permits, Reviewer,
    belongs::belongs,
    permits::{ASK_AGAIN, PERMIT_LIFETIME, Pull},
    review::Refusal,
};
use crate::{pull_secrets::PullSecrets, world::ObservedCluster};

/// Time for the head of a request, and for its body.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// No question is longer.
const MOST_BYTES: usize = 16 << 10;

type Answer = Response<Full<Bytes>>;

pub(crate) struct Server {
    reviewer: Reviewer,
    secrets: PullSecrets,
    permits: Mutex<Permits>,
    /// The observed cluster; none while another replica works.
    world: RwLock<Option<ObservedCluster>>,
}

impl Server {
    pub(crate) fn new(reviewer: Reviewer, secrets: PullSecrets, permits: Permits) -> Self {
        Self {
            reviewer,
            secrets,
            permits: Mutex::new(permits),
            world: RwLock::default(),
        }
    }

    /// Makes this replica decide from now on.
    pub(crate) fn decide_by(&self, world: ObservedCluster) {
        *self.world.write() = Some(world);
    }

    /// Serves agents until the shutdown.
    pub(crate) async fn serve(
        self: Arc<Self>,
        listener: Arc<TcpListener>,
        tls: Arc<ServerConfig>,
        shutdown: CancellationToken,
    ) {
        let options = ServeOptions {
            head_timeout: REQUEST_TIMEOUT,
            ..ServeOptions::new("agent's connection").with_tls(tls)
        };
        let answer = move |request| {
            let server = self.clone();
            async move { server.answer(request).await }
        };
        airside_serve::serve(listener, options, answer, shutdown).await;
    }

    async fn answer(&self, request: Request<Incoming>) -> Answer {
        let path = request.uri().path().to_owned();
        let permit = path
            .strip_prefix(PULLS_PATH)
            .and_then(|rest| rest.strip_prefix('/'));
        match (request.method().clone(), permit) {
            (Method::GET, None) if path == "/healthz" => said(StatusCode::OK, "well"),
            (Method::POST, None) if path == PULLS_PATH => self.grant(request).await,
            (Method::DELETE, Some(permit)) => self.give_back(&request, permit).await,
            _ => said(
                StatusCode::NOT_FOUND,
                "no such path on the operator's port for pulls",
            ),
        }
    }

    async fn grant(&self, request: Request<Incoming>) -> Answer {
        let Some(world) = self.world.read().clone() else {
            return later("another replica decides; ask again");
        };
        let node = match self.node(&request).await {
            Ok(node) => node,
            Err(refused) => return refused,
        };
        let body = Limited::new(request.into_body(), MOST_BYTES).collect();
        let Ok(Ok(body)) = tokio::time::timeout(REQUEST_TIMEOUT, body).await else {
            return said(StatusCode::BAD_REQUEST, "the question was not sent whole");
        };
        let asked: PullRequest = match serde_json::from_slice(&body.to_bytes()) {
            Ok(asked) => asked,
            Err(error) => return said(StatusCode::BAD_REQUEST, &chain(&error)),
        };
        let Some(found) = belongs(&world.now(), &node, &asked) else {
            let words = format!(
                "no set wants {} with {} on {node}",
                asked.image, asked.digest
            );
            return said(StatusCode::FORBIDDEN, &words);
        };
        let pull = Pull {
            node,
            image: asked.image,
            digest: asked.digest,
        };
        let Some(permit) = self.permits.lock().ask(&pull, found.need, Instant::now()) else {
            return later("others go first");
        };
        match self.logins(&pull, &found.secrets).await {
            Ok(logins) => granted(permit, logins),
            Err(words) => {
                self.permits.lock().give_back(&pull.node, &permit);
                tracing::warn!(
                    image = pull.image,
                    node = pull.node,
                    reason = words,
                    "registry logins for the pull cannot be read"
                );
                said(StatusCode::SERVICE_UNAVAILABLE, &words)
            }
        }
    }

    async fn logins(
        &self,
        pull: &Pull,
        secrets: &[crate::monitor::Secrets],
    ) -> Result<Vec<PullLogin>, String> {
        let image: Reference = pull
            .image
            .parse()
            .map_err(|error: airside_oci::BadReference| chain(&error))?;
        let mut logins = Vec::new();
        for secrets in secrets {
            let found = self.secrets.logins(secrets, image.repository()).await;
            for login in found.map_err(|error| chain(&error))? {
                if !logins.contains(&login) {
                    logins.push(login);
                }
            }
        }
        Ok(logins)
    }

    async fn give_back(&self, request: &Request<Incoming>, permit: &str) -> Answer {
        let node = match self.node(request).await {
            Ok(node) => node,
            Err(refused) => return refused,
        };
        if self.permits.lock().give_back(&node, permit) {
            said(StatusCode::OK, "the permit was given back")
        } else {
            said(StatusCode::NOT_FOUND, "this node has no such permit")
        }
    }

    /// Returns the node of the agent that asks, by its token.
    async fn node(&self, request: &Request<Incoming>) -> Result<String, Answer> {
        let header = request.headers().get(header::AUTHORIZATION);
        let token = header.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        let Some(token) = token else {
            return Err(said(StatusCode::UNAUTHORIZED, "there is no token"));
        };
        self.reviewer
            .node(token)
            .await
            .map_err(|refusal| match &refusal {
                Refusal::Unknown(error) => {
                    tracing::warn!(
                        error = %chain(error),
                        "token of an agent not reviewed"
                    );
                    said(StatusCode::SERVICE_UNAVAILABLE, &refusal.to_string())
                }
                Refusal::Token => said(StatusCode::UNAUTHORIZED, &refusal.to_string()),
                Refusal::Account(_) | Refusal::Node => {
                    said(StatusCode::FORBIDDEN, &refusal.to_string())
                }
            })
    }
}

fn granted(permit: String, logins: Vec<PullLogin>) -> Answer {
    let grant = PullGrant {
        permit,
        seconds: u32::try_from(PERMIT_LIFETIME.as_secs()).unwrap_or(u32::MAX),
        logins,
    };
    airside_serve::json(StatusCode::OK, &grant)
}

fn later(words: &str) -> Answer {
    let mut answer = said(StatusCode::TOO_MANY_REQUESTS, words);
    let seconds = HeaderValue::from(ASK_AGAIN.as_secs());
    answer.headers_mut().insert(header::RETRY_AFTER, seconds);
    answer
}

fn said(status: StatusCode, words: &str) -> Answer {
    airside_serve::json(status, &json!({"message": words}))
}
