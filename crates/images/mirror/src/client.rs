//! Requests to registries, with their redirections to wherever they keep blobs.

use std::{sync::Arc, time::Duration};

use airside_model::chain;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri, header};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client as Http, connect::HttpConnector},
    rt::TokioExecutor,
};

use crate::Authorities;

const CONNECT: Duration = Duration::from_secs(5);
/// Timeout of the head of an answer; its body has none.
const ANSWER: Duration = Duration::from_secs(30);
const REDIRECTIONS: usize = 5;

/// The reason why there is no answer at all.
#[derive(Debug, thiserror::Error)]
pub enum Away {
    #[error("cannot reach {host}: {why}")]
    Unreachable { host: String, why: String },
    #[error("{0} does not answer")]
    Silent(String),
    #[error("{host} redirects to a place that is not followed: {why}")]
    Redirection { host: String, why: &'static str },
    #[error("{0:?} is not an address")]
    Address(String),
    #[error("{0} asked to be left alone for a while")]
    Resting(String),
}

/// Cheap to clone; keeps connections.
#[derive(Clone, Debug)]
pub struct Client(Arc<Http<HttpsConnector<HttpConnector>, Empty<Bytes>>>);

impl Client {
    /// Makes a client that trusts the machine's authorities and the user's own.
    pub fn new(own: Option<&Authorities>) -> std::io::Result<Self> {
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_connect_timeout(Some(CONNECT));
        connector.set_nodelay(true);
        let builder = HttpsConnectorBuilder::new();
        let builder = match own {
            Some(own) => builder.with_tls_config(own.beside_machine()),
            None => builder.with_native_roots()?,
        };
        let connector = builder
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        let client = Http::builder(TokioExecutor::new()).build(connector);
        Ok(Self(Arc::new(client)))
    }

    /// Follows redirections, without the login where they lead to another host. A `HEAD` stays with
    /// its host.
    pub async fn send(
        &self,
        method: &Method,
        address: &str,
        headers: &HeaderMap,
    ) -> Result<Response<Incoming>, Away> {
        let uri = address.parse::<Uri>();
        let mut uri = uri.map_err(|_| Away::Address(address.to_owned()))?;
        let mut headers = headers.clone();
        for _ in 0..=REDIRECTIONS {
            let answer = self.once(method, &uri, &headers).await?;
            let Some(next) = redirection(&uri, &answer)? else {
                return Ok(answer);
            };
            if (next.scheme(), next.authority()) != (uri.scheme(), uri.authority()) {
                // A redirection is the registry's yes; its target is often signed for `GET` alone.
                if method == Method::HEAD {
                    return Ok(answer);
                }
                headers.remove(header::AUTHORIZATION);
            }
            uri = next;
        }
        Err(Away::Redirection {
            host: host(&uri),
            why: "there are too many in a row",
        })
    }

    async fn once(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Response<Incoming>, Away> {
        let mut request = Request::new(Empty::new());
        *request.method_mut() = method.clone();
        *request.uri_mut() = uri.clone();
        *request.headers_mut() = headers.clone();
        let answer = tokio::time::timeout(ANSWER, self.0.request(request)).await;
        let answer = answer.map_err(|_| Away::Silent(host(uri)))?;
        answer.map_err(|error| Away::Unreachable {
            host: host(uri),
            why: chain(&error),
        })
    }
}

fn host(uri: &Uri) -> String {
    uri.authority().map(ToString::to_string).unwrap_or_default()
}

fn redirection<B>(from: &Uri, answer: &Response<B>) -> Result<Option<Uri>, Away> {
    let follows = [
        StatusCode::MOVED_PERMANENTLY,
        StatusCode::FOUND,
        StatusCode::SEE_OTHER,
        StatusCode::TEMPORARY_REDIRECT,
        StatusCode::PERMANENT_REDIRECT,
    ];
    let place = answer.headers().get(header::LOCATION);
    let Some(place) = place.filter(|_| follows.contains(&answer.status())) else {
        return Ok(None);
    };
    let refused = |why| Away::Redirection {
        host: host(from),
        why,
    };
    let base = url::Url::parse(&from.to_string()).ok();
    let place = place.to_str().ok().zip(base);
    let next = place.and_then(|(place, base)| base.join(place).ok());
    let next = next.ok_or_else(|| refused("it is not an address"))?;
    match (from.scheme_str(), next.scheme()) {
        (_, "https") | (Some("http"), "http") => {}
        _ => return Err(refused("it is less safe than where it comes from")),
    }
    let next = next.as_str().parse();
    next.map(Some).map_err(|_| refused("it is not an address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_answers_lead() {
        for (from, status, place, expected) in [
            (
                "https://a.example/v2/x",
                307,
                "https://b.example/y?z=1",
                Ok(Some("https://b.example/y?z=1")),
            ),
            (
                "https://a.example/v2/x",
                302,
                "/y",
                Ok(Some("https://a.example/y")),
            ),
            (
                "http://a.example/v2/x",
                307,
                "http://b.example/y",
                Ok(Some("http://b.example/y")),
            ),
            ("https://a.example/v2/x", 200, "/y", Ok(None)),
            ("https://a.example/v2/x", 307, "http://b.example/y", Err(())),
            ("https://a.example/v2/x", 307, "file:///etc/passwd", Err(())),
        ] {
            let answer = Response::builder().status(status).header("location", place);
            let found = redirection(&from.parse().unwrap(), &answer.body(()).unwrap());
            let found = found
                .map(|uri| uri.map(|uri| uri.to_string()))
                .map_err(drop);
            assert_eq!(found, expected.map(|uri| uri.map(str::to_owned)), "{place}");
        }
    }
}
