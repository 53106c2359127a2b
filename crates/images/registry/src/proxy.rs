//! A proxy for pulls: the registry on a node's loopback, where container runtimes need no TLS.
//!
//! It passes on what it is given, the login included: a caller can do what its token allows, and
//! nothing without one.

use std::{sync::Arc, time::Duration};

use airside_model::chain;
use airside_serve::{Authorities, ServeOptions};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, Method, Request, Response, StatusCode, header, uri::PathAndQuery,
};
use http_body_util::{BodyExt as _, Empty, combinators::BoxBody};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

mod upstream;

pub use self::upstream::{Upstream, UpstreamError};

const CONNECT: Duration = Duration::from_secs(10);
/// Timeout of the head of an answer; its body has none.
const ANSWER: Duration = Duration::from_secs(60);

/// Headers of one connection, which are not passed on.
const OWN: [HeaderName; 8] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
];

type RegistryBody = BoxBody<Bytes, hyper::Error>;

#[derive(Clone)]
struct Proxy {
    upstream: Upstream,
    client: Client<HttpsConnector<HttpConnector>, Empty<Bytes>>,
}

/// Serves until the shutdown. A TLS upstream must show a certificate of these authorities, or
/// without any of one that the machine trusts.
pub async fn serve(
    listener: TcpListener,
    upstream: Upstream,
    authorities: Option<&Authorities>,
    shutdown: CancellationToken,
) -> std::io::Result<()> {
    let proxy = Proxy {
        upstream,
        client: client(authorities)?,
    };
    let answer = move |request| {
        let proxy = proxy.clone();
        async move { proxy.answer(request).await }
    };
    let options = ServeOptions::new("pull through the proxy");
    airside_serve::serve(Arc::new(listener), options, answer, shutdown).await;
    Ok(())
}

fn client(
    authorities: Option<&Authorities>,
) -> std::io::Result<Client<HttpsConnector<HttpConnector>, Empty<Bytes>>> {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_connect_timeout(Some(CONNECT));
    connector.set_nodelay(true);
    let builder = HttpsConnectorBuilder::new();
    let builder = match authorities {
        Some(authorities) => builder.with_tls_config(authorities.alone()),
        None => builder.with_native_roots()?,
    };
    let connector = builder
        .https_or_http()
        .enable_http1()
        .wrap_connector(connector);
    Ok(Client::builder(TokioExecutor::new()).build(connector))
}

impl Proxy {
    async fn answer(&self, request: Request<Incoming>) -> Response<RegistryBody> {
        let asked = request.uri().path_and_query().cloned();
        let Some(asked) = asked.filter(|asked| is_registrys(asked.path())) else {
            return refusal(
                StatusCode::NOT_FOUND,
                "only images are served here, below /v2/",
            );
        };
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let words = "images are only pulled here";
            return refusal(StatusCode::METHOD_NOT_ALLOWED, words);
        }
        match self.forward(&request, &asked).await {
            Ok(answer) => answer,
            Err(words) => {
                tracing::warn!(upstream = %self.upstream, path = asked.path(), reason = words, "no answer from the server's registry");
                refusal(StatusCode::BAD_GATEWAY, &words)
            }
        }
    }

    async fn forward(
        &self,
        request: &Request<Incoming>,
        asked: &PathAndQuery,
    ) -> Result<Response<RegistryBody>, String> {
        let upstream = &self.upstream;
        let uri = upstream.uri(asked);
        let uri = uri.ok_or_else(|| format!("{upstream} has no such place"))?;
        let mut sent = Request::new(Empty::new());
        *sent.method_mut() = request.method().clone();
        *sent.uri_mut() = uri;
        *sent.headers_mut() = passed_on(request.headers());
        // The upstream is asked under its own name.
        sent.headers_mut().remove(header::HOST);
        let answer = tokio::time::timeout(ANSWER, self.client.request(sent)).await;
        let answer = answer.map_err(|_| format!("the registry at {upstream} does not answer"))?;
        let answer = answer.map_err(|error| {
            let why = chain(&error);
            format!("cannot reach the registry at {upstream}: {why}")
        })?;
        let (mut parts, body) = answer.into_parts();
        parts.headers = passed_on(&parts.headers);
        Ok(Response::from_parts(parts, body.boxed()))
    }
}

fn is_registrys(path: &str) -> bool {
    path == "/v2" || path.starts_with("/v2/")
}

fn passed_on(headers: &HeaderMap) -> HeaderMap {
    let mut passed = headers.clone();
    for name in OWN {
        passed.remove(name);
    }
    passed
}

fn refusal(status: StatusCode, words: &str) -> Response<RegistryBody> {
    let answer = airside_serve::oci_error(status, airside_serve::oci_code(status), words);
    answer.map(|body| body.map_err(|never| match never {}).boxed())
}
