//! Requests to an API server.

use std::{io::BufReader, time::Duration};

use airside_blocking_http::{
    Address, Client, Error, Payload, Request, RequestTimeouts, Response, ResponseBody,
};
use airside_model::chain;
use airside_object_status::printable;
use serde_json::Value;

use super::{access::ClusterAccess, names::text};
use crate::Failure;

/// Far larger than any object; a list of 500 of them fits.
const MAX_ANSWER: u64 = 64 << 20;
/// Longest refusal that is read.
const MAX_REFUSAL: u64 = 64 << 10;
const JSON: &str = "application/json";
const APPLY: &str = "application/apply-patch+yaml";

/// A request's method and body.
#[derive(Clone, Copy, Debug)]
pub(super) enum ApiCall<'a> {
    Get,
    /// Sent once, whatever happens: a second one would make a second object.
    Create(&'a Value),
    /// A question that is asked by creating it, and that nothing keeps: it may be sent again.
    Review(&'a Value),
    Apply(&'a Value),
    Delete(&'a Value),
}

/// An answer that is no success.
#[derive(Clone, Debug)]
pub(super) struct ApiRefusal {
    pub(super) status: u16,
    /// The `Status` object, or null where the answer was none.
    pub(super) body: Value,
    pub(super) retry_after: Option<Duration>,
}

impl ApiRefusal {
    /// Returns the API server's own words.
    pub(super) fn message(&self) -> String {
        match text(&self.body, "/message") {
            "" => format!("it answers with {}", self.status),
            message => printable(message),
        }
    }

    /// Returns true if the path is known and the object is not there.
    pub(super) fn is_missing_object(&self) -> bool {
        self.status == 404 && !text(&self.body, "/details/name").is_empty()
    }
}

/// A request that did not succeed.
#[derive(Debug)]
pub(super) enum ApiError {
    /// The server cannot be reached or has trouble; the same request may succeed later.
    Away(String),
    Refused(Box<ApiRefusal>),
    /// The request cannot succeed as it is: no token, no trust, an answer that is not JSON.
    Unusable(Failure),
}

impl ApiError {
    /// Says what happened to a request; `what` continues "cannot …".
    pub(super) fn into_failure(self, what: &str) -> Failure {
        match self {
            Self::Away(why) => Failure::said(format!("cannot {what}: {why}")),
            Self::Unusable(failure) => failure,
            Self::Refused(refusal) => Failure::Refused {
                status: refusal.status,
                retry_after: refusal.retry_after,
                words: format!("cannot {what}: {}", refusal.message()),
            },
        }
    }

    pub(super) fn status(&self) -> Option<u16> {
        match self {
            Self::Refused(refusal) => Some(refusal.status),
            _ => None,
        }
    }
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Away(why) => f.write_str(why),
            Self::Refused(refusal) => f.write_str(&refusal.message()),
            Self::Unusable(failure) => failure.fmt(f),
        }
    }
}

impl std::error::Error for ApiError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unusable(failure) => failure.source(),
            Self::Away(_) | Self::Refused(_) => None,
        }
    }
}

/// Makes requests, one after the other. Threads have one each.
pub(super) struct ApiClient {
    access: ClusterAccess,
    client: Client,
}

/// Returns limits for requests that are answered at once.
fn prompt() -> RequestTimeouts {
    RequestTimeouts {
        connect: Duration::from_secs(10),
        tries: 1,
        ..RequestTimeouts::default()
    }
}

impl ApiClient {
    pub(super) fn new(access: &ClusterAccess) -> Result<Self, Failure> {
        Self::with_patience(access, prompt())
    }

    /// Makes a client for answers that come line by line, with this much silence between them.
    pub(super) fn for_streams(access: &ClusterAccess, silence: Duration) -> Result<Self, Failure> {
        let patience = RequestTimeouts {
            silence,
            speed: 0,
            ..prompt()
        };
        Self::with_patience(access, patience)
    }

    /// Makes a client whose requests take no longer than this.
    pub(super) fn in_haste(access: &ClusterAccess, limit: Duration) -> Result<Self, Failure> {
        let patience = RequestTimeouts {
            connect: limit,
            silence: limit,
            ..prompt()
        };
        Self::with_patience(access, patience)
    }

    fn with_patience(access: &ClusterAccess, patience: RequestTimeouts) -> Result<Self, Failure> {
        Ok(Self {
            access: access.clone(),
            client: Client::with_tls(&access.tls, patience)?,
        })
    }

    pub(super) fn access(&self) -> &ClusterAccess {
        &self.access
    }

    /// Makes a request whose answer is one JSON value.
    pub(super) fn call(&self, path: &str, call: ApiCall<'_>) -> Result<Value, ApiError> {
        self.call_with_status(path, call).map(|(_, value)| value)
    }

    /// Makes a request, and returns its status beside the answer.
    pub(super) fn call_with_status(
        &self,
        path: &str,
        call: ApiCall<'_>,
    ) -> Result<(u16, Value), ApiError> {
        let mut response = self.send(path, call)?;
        let bytes = response.body.read_all(MAX_ANSWER).map_err(sort)?;
        let status = response.status;
        self.client.done(response);
        let value = serde_json::from_slice(&bytes).map_err(|error| {
            let words = format!("the API server's answer cannot be read: {}", chain(&error));
            ApiError::Unusable(Failure::said(words))
        })?;
        Ok((status, value))
    }

    /// Opens an answer that is read line by line.
    pub(super) fn open(&self, path: &str) -> Result<BufReader<ResponseBody>, ApiError> {
        let response = self.send(path, ApiCall::Get)?;
        Ok(BufReader::new(response.body))
    }

    fn send(&self, path: &str, call: ApiCall<'_>) -> Result<Response, ApiError> {
        let body = match call {
            ApiCall::Get => Vec::new(),
            ApiCall::Create(body)
            | ApiCall::Review(body)
            | ApiCall::Apply(body)
            | ApiCall::Delete(body) => body.to_string().into_bytes(),
        };
        let mut once = body.as_slice();
        let length = body.len() as u64;
        let (method, content_type, payload) = match call {
            ApiCall::Get => ("GET", None, Payload::Nothing),
            ApiCall::Create(_) => ("POST", Some(JSON), Payload::Stream(&mut once, length)),
            ApiCall::Review(_) => ("POST", Some(JSON), Payload::Bytes(&body)),
            ApiCall::Apply(_) => ("PATCH", Some(APPLY), Payload::Bytes(&body)),
            ApiCall::Delete(_) => ("DELETE", Some(JSON), Payload::Bytes(&body)),
        };
        let url = format!("{}{path}", self.access.server);
        let address = Address::parse(&url).map_err(|error| ApiError::Unusable(error.into()))?;
        let mut request = Request::new(method, address)
            .header("Accept", JSON)
            .payload(payload);
        if let Some(content_type) = content_type {
            request = request.header("Content-Type", content_type);
        }
        if let Some(token) = self.access.token.current().map_err(ApiError::Unusable)? {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let response = self.client.send(request).map_err(sort)?;
        if response.is_success() {
            Ok(response)
        } else {
            Err(refusal(response))
        }
    }
}

/// Tells a server that is away from one that cannot be used.
fn sort(error: Error) -> ApiError {
    match error {
        Error::Connect { .. }
        | Error::Cut { .. }
        | Error::Broken { .. }
        | Error::Silent { .. }
        | Error::Slow { .. } => ApiError::Away(chain(&error)),
        other => ApiError::Unusable(other.into()),
    }
}

fn refusal(mut response: Response) -> ApiError {
    let seconds = response
        .header("retry-after")
        .and_then(|text| text.parse().ok());
    let bytes = response.body.read_all(MAX_REFUSAL).unwrap_or_default();
    let refusal = ApiRefusal {
        status: response.status,
        body: serde_json::from_slice(&bytes).unwrap_or_default(),
        retry_after: seconds.map(Duration::from_secs),
    };
    match refusal.status {
        429 | 502 | 503 | 504 => {
            let words = format!("the API server has trouble: {}", refusal.message());
            ApiError::Away(words)
        }
        _ => ApiError::Refused(Box::new(refusal)),
    }
}
