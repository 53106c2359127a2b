//! Asking a provider over HTTP: never for long, never for much, and never in clear but on this
//! machine.

use std::time::Duration;

use reqwest::{
    Certificate, Client, RequestBuilder, Response,
    header::{ACCEPT, HeaderMap},
    redirect::Policy,
};
use serde::de::DeserializeOwned;
use url::Url;

use crate::error::{Fault, Result};

/// No answer that we ask for is nearly as long.
const MAX_BODY_BYTES: usize = 1 << 20;
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("no CA certificate is in the file; it must hold one or more in PEM form")]
    NoCertificate,
    #[error("the CA certificate cannot be used")]
    Certificate(#[source] reqwest::Error),
    #[error("no HTTP client can be made; is there a list of CA certificates on this machine?")]
    Client(#[source] reqwest::Error),
}

#[derive(Clone)]
pub(crate) struct Http {
    client: Client,
    patience: Duration,
}

/// A provider's response.
pub(crate) struct HttpAnswer {
    pub(crate) at: String,
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Http {
    /// `ca` is trusted beside what the machine trusts.
    pub(crate) fn new(ca: Option<&[u8]>, patience: Duration) -> Result<Self, HttpError> {
        let certificates = match ca {
            Some(pem) => Certificate::from_pem_bundle(pem).map_err(HttpError::Certificate)?,
            None => Vec::new(),
        };
        if ca.is_some() && certificates.is_empty() {
            return Err(HttpError::NoCertificate);
        }
        let mut builder = Client::builder()
            .connect_timeout(patience)
            .timeout(patience)
            .redirect(Policy::none())
            .user_agent("airside");
        if !certificates.is_empty() {
            builder = builder.tls_certs_merge(certificates);
        }
        let client = builder.build().map_err(HttpError::Client)?;
        Ok(Self { client, patience })
    }

    pub(crate) async fn get(&self, url: &Url, token: Option<&str>) -> Result<HttpAnswer> {
        let mut request = self.client.get(url.clone());
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        self.send(url, request).await
    }

    /// Posts a form; `basic` is an id and a secret, each already escaped.
    pub(crate) async fn post(
        &self,
        url: &Url,
        form: &[(&str, &str)],
        basic: Option<(String, String)>,
    ) -> Result<HttpAnswer> {
        let mut request = self.client.post(url.clone()).form(form);
        if let Some((id, secret)) = basic {
            request = request.basic_auth(id, Some(secret));
        }
        self.send(url, request).await
    }

    async fn send(&self, url: &Url, request: RequestBuilder) -> Result<HttpAnswer> {
        let at = shown(url);
        if !is_confidential(url) {
            return Err(Fault::Insecure { at });
        }
        let fail = |error: reqwest::Error| {
            if error.is_timeout() {
                Fault::Slow {
                    at: at.clone(),
                    seconds: self.patience.as_secs(),
                }
            } else {
                Fault::Unreachable {
                    at: at.clone(),
                    source: error.without_url().into(),
                }
            }
        };
        let request = request.header(ACCEPT, "application/json");
        let response = request.send().await.map_err(fail)?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = read(&at, response, fail).await?;
        Ok(HttpAnswer {
            at,
            status,
            headers,
            body,
        })
    }
}

async fn read(
    at: &str,
    mut response: Response,
    fail: impl Fn(reqwest::Error) -> Fault,
) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(&fail)? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_BODY_BYTES {
            return Err(Fault::Garbage {
                at: at.to_owned(),
                why: format!("it is longer than {MAX_BODY_BYTES} bytes"),
            });
        }
    }
    Ok(body)
}

impl HttpAnswer {
    pub(crate) fn is_ok(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The answer, if it is a good one.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T> {
        if !self.is_ok() {
            return Err(Fault::Status {
                at: self.at.clone(),
                status: self.status,
            });
        }
        serde_json::from_slice(&self.body).map_err(|error| self.garbage(error))
    }

    pub(crate) fn garbage(&self, why: impl std::fmt::Display) -> Fault {
        Fault::Garbage {
            at: self.at.clone(),
            why: why.to_string(),
        }
    }
}

/// Returns the URL without its query and without a password.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    let _ = url.set_password(None);
    url.to_string()
}

/// Encrypted, or not leaving this machine.
pub(crate) fn is_confidential(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    let here = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
    url.scheme() == "https" || (url.scheme() == "http" && here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_goes_over_the_network_in_clear() {
        for (url, confidential) in [
            ("https://example.com/", true),
            ("http://example.com/", false),
            ("http://127.0.0.1:1/", true),
            ("http://[::1]:1/", true),
            ("http://localhost:1/", true),
            ("http://localhost.example.com/", false),
            ("ftp://127.0.0.1/", false),
        ] {
            assert_eq!(
                is_confidential(&url.parse().unwrap()),
                confidential,
                "{url}"
            );
        }
        let url = "https://u:secret@example.com/a?code=secret"
            .parse()
            .unwrap();
        assert_eq!(shown(&url), "https://u@example.com/a");
    }

    #[test]
    fn a_ca_file_must_have_a_certificate() {
        for pem in [&b""[..], b"hello"] {
            let made = Http::new(Some(pem), REQUEST_TIMEOUT);
            assert!(matches!(made, Err(HttpError::NoCertificate)));
        }
    }
}
