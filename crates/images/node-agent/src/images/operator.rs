//! Asks the operator before a pull: for a place among the pulls of the cluster, and for logins.
//!
//! Nothing is kept: logins live as long as one pull.

use std::{path::PathBuf, sync::Arc, time::Duration};

use airside_image_rules::{PULLS_PATH, PullGrant, PullRequest};
use airside_model::chain;
use bytes::Bytes;
use http::{Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use serde_json::Value;

/// Timeout of each request. An operator that does not answer must not hold up pulls for long.
pub(crate) const OPERATOR_TIMEOUT: Duration = Duration::from_secs(5);
/// Wait before the next request where the operator names none.
const BETWEEN: Duration = Duration::from_secs(5);
const LARGEST_ANSWER: usize = 1 << 20;

/// Address of the operator, and the agent's proof to it. The files are read for each request: they
/// change.
#[derive(Clone, Debug)]
pub struct OperatorClient {
    pub url: Uri,
    /// File with the authority to trust, as PEM.
    pub ca: PathBuf,
    /// This agent's token, for the operator alone.
    pub token: PathBuf,
    /// Timeout of each request.
    pub(crate) patience: Duration,
}

/// Answer of the operator to a request for a pull.
#[derive(Debug)]
pub(crate) enum PullAnswer {
    Granted(PullGrant),
    /// Others go first.
    Later(Duration),
    /// The image does not belong on this node by what the operator knows.
    Denied(String),
}

#[derive(Debug, thiserror::Error)]
#[error("the operator at {url} cannot be asked: {why}")]
pub(crate) struct Unreachable {
    url: Uri,
    why: String,
}

impl OperatorClient {
    /// Asks for a permit; the same request again renews it.
    pub(crate) async fn ask(&self, request: &PullRequest) -> Result<PullAnswer, Unreachable> {
        let body = serde_json::to_vec(request).map_err(|error| self.unreachable(error))?;
        let answer = self.send(Method::POST, PULLS_PATH, body).await?;
        let (parts, body) = answer.into_parts();
        match parts.status {
            StatusCode::OK => {
                let grant = serde_json::from_slice(&body).map_err(|error| self.unreachable(error));
                grant.map(PullAnswer::Granted)
            }
            StatusCode::TOO_MANY_REQUESTS => {
                let seconds = parts.headers.get(header::RETRY_AFTER);
                let seconds = seconds.and_then(|value| value.to_str().ok()?.parse().ok());
                let wait = seconds.map_or(BETWEEN, |seconds: u64| {
                    Duration::from_secs(seconds.clamp(1, 60))
                });
                Ok(PullAnswer::Later(wait))
            }
            StatusCode::FORBIDDEN => Ok(PullAnswer::Denied(words(&body))),
            other => Err(self.unreachable(format!("{other}: {}", words(&body)))),
        }
    }

    pub(crate) async fn give_back(&self, permit: &str) -> Result<(), Unreachable> {
        let path = format!("{PULLS_PATH}/{permit}");
        self.send(Method::DELETE, &path, Vec::new()).await.map(drop)
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
    ) -> Result<http::Response<Bytes>, Unreachable> {
        let sent = tokio::time::timeout(self.patience, self.try_send(method, path, body)).await;
        match sent {
            Ok(answer) => answer.map_err(|why| self.unreachable(why)),
            Err(_) => Err(self.unreachable("it does not answer")),
        }
    }

    /// A connection for each question: pulls are rare, and the certificate may have changed.
    async fn try_send(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
    ) -> Result<http::Response<Bytes>, String> {
        let token = tokio::fs::read_to_string(&self.token).await;
        let token = token
            .map_err(|error| format!("{}: {error}", self.token.display(), error = chain(&error)))?;
        let base = self.url.to_string();
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", base.trim_end_matches('/')))
            .header(header::AUTHORIZATION, format!("Bearer {}", token.trim()))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| chain(&error))?;
        let answer = self.client().await?.request(request).await;
        let answer = answer.map_err(|error| chain(&error))?;
        let (parts, body) = answer.into_parts();
        let body = Limited::new(body, LARGEST_ANSWER).collect().await;
        let body = body.map_err(|error| chain(&*error))?.to_bytes();
        Ok(http::Response::from_parts(parts, body))
    }

    async fn client(
        &self,
    ) -> Result<Client<hyper_rustls::HttpsConnector<HttpConnector>, Full<Bytes>>, String> {
        let mut roots = RootCertStore::empty();
        if self.url.scheme_str() == Some("https") {
            let pem = tokio::fs::read(&self.ca).await;
            let pem = pem.map_err(|error| {
                format!("{}: {error}", self.ca.display(), error = chain(&error))
            })?;
            for certificate in CertificateDer::pem_slice_iter(&pem) {
                let certificate = certificate.map_err(|error| {
                    format!(
                        "{} is not a certificate: {error}",
                        self.ca.display(),
                        error = chain(&error)
                    )
                })?;
                roots.add(certificate).map_err(|error| chain(&error))?;
            }
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| chain(&error))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_connect_timeout(Some(self.patience));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        Ok(Client::builder(TokioExecutor::new()).build(connector))
    }

    fn unreachable(&self, why: impl ToString) -> Unreachable {
        Unreachable {
            url: self.url.clone(),
            why: why.to_string(),
        }
    }
}

/// Returns the message of an answer, which is JSON or text.
fn words(body: &[u8]) -> String {
    let told: Option<Value> = serde_json::from_slice(body).ok();
    let message = told.as_ref().and_then(|told| {
        let message = told.get("message").or_else(|| told.get("error"));
        message?.as_str()
    });
    match message {
        Some(message) => message.to_owned(),
        None => String::from_utf8_lossy(body).trim().to_owned(),
    }
}

#[cfg(test)]
mod tests;
