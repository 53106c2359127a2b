//! The number in an object of Google Cloud Storage. A write names the generation that it replaces,
//! so that of two bumps the second is done again.

use std::io::Write;

use airside_blocking_http::{Address, Client, Payload, Request, Response, Trust, encode};

use super::{Driver, service_account::ServiceAccount, strict};
use crate::{Failure, versions::Semver};

const ENDPOINT: &str = "https://storage.googleapis.com";
/// Largest content that is read: longer than any number of a version.
const MAX_CONTENT: u64 = 64 << 10;
/// The generation of an object that does not exist.
const ABSENT: &str = "0";
/// The code in an answer that there is no such bucket, where the object is no matter.
const NO_BUCKET: &str = "<Code>NoSuchBucket</Code>";

/// Credentials for the bucket.
pub(super) enum GcsLogin {
    Key(ServiceAccount),
    Token(String),
}

/// An object, and the way to it.
pub(super) struct GcsObject {
    pub(super) bucket: String,
    pub(super) key: String,
    pub(super) endpoint: Option<String>,
    pub(super) login: GcsLogin,
    pub(super) skip_ssl_verification: bool,
}

pub(super) struct GcsDriver {
    client: Client,
    token: String,
    address: Address,
    key: String,
    /// The generation that `current` read.
    generation: String,
}

impl GcsDriver {
    pub(super) fn new(object: GcsObject) -> Result<Self, Failure> {
        let client = Client::new(&if object.skip_ssl_verification {
            Trust::Anybody
        } else {
            Trust::Public
        })?;
        let endpoint = object
            .endpoint
            .as_deref()
            .unwrap_or(ENDPOINT)
            .trim_end_matches('/');
        let path = format!(
            "{}/{}",
            encode(&object.bucket, b""),
            encode(&object.key, b"/")
        );
        let address = Address::parse(&format!("{endpoint}/{path}")).map_err(|error| {
            Failure::source(
                "endpoint",
                format!("is not valid: {}", airside_model::chain(&error)),
            )
        })?;
        let token = match object.login {
            GcsLogin::Token(token) => token,
            GcsLogin::Key(account) => account.token(&client)?,
        };
        Ok(Self {
            client,
            token,
            address,
            key: object.key,
            generation: ABSENT.to_owned(),
        })
    }

    fn request<'a>(&self, method: &'static str) -> Request<'a> {
        Request::new(method, self.address.clone())
            .header("Authorization", format!("Bearer {}", self.token))
    }

    fn success(&self, response: Response, method: &'static str) -> Result<Response, Failure> {
        response.success(method).map_err(|error| match error.status() {
            Some(401 | 403) => Failure::said(format!(
                "Google Cloud Storage refuses the object {}: may the account read and write it? ({error})",
                self.key, error = airside_model::chain(&error))),
            _ => Failure::from(error),
        })
    }
}

impl Driver for GcsDriver {
    fn current(&mut self, _log: &mut dyn Write) -> Result<Option<Semver>, Failure> {
        let response = self.client.send(self.request("GET"))?;
        if response.status == 404 {
            let answer = response.bytes(MAX_CONTENT)?;
            if String::from_utf8_lossy(&answer).contains(NO_BUCKET) {
                return Err(Failure::source("bucket", "is not an existing bucket"));
            }
            ABSENT.clone_into(&mut self.generation);
            return Ok(None);
        }
        let mut response = self.success(response, "GET")?;
        let generation = response.header("x-goog-generation").map(str::to_owned);
        self.generation = generation.ok_or_else(|| {
            let words = format!(
                "{} does not return the generation of the object",
                self.address
            );
            Failure::said(words)
        })?;
        let bytes = response.body.read_all(MAX_CONTENT)?;
        self.client.done(response);
        let text = String::from_utf8_lossy(&bytes);
        strict(text.trim()).map(Some).ok_or_else(|| {
            let shown: String = text.trim().chars().take(80).collect();
            Failure::said(format!(
                "{} has {shown:?} in it, which is not a version",
                self.key
            ))
        })
    }

    fn replace(&mut self, new: &Semver, _log: &mut dyn Write) -> Result<bool, Failure> {
        let text = new.to_string();
        let request = self
            .request("PUT")
            .header("Content-Type", "text/plain")
            // No cache on the way may answer with an older number.
            .header("Cache-Control", "private")
            .header("x-goog-if-generation-match", self.generation.as_str())
            .payload(Payload::Bytes(text.as_bytes()));
        let response = self.client.send(request)?;
        // Also after a write of ours whose answer was lost: then the number grows once more, and
        // none is given out twice.
        if response.status == 412 {
            return Ok(false);
        }
        let mut response = self.success(response, "PUT")?;
        response.body.read_all(MAX_CONTENT)?;
        self.client.done(response);
        Ok(true)
    }
}
