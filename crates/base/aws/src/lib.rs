//! Signed requests to AWS.
//!
//! - [`Signer`] signs requests, [`sign`](Signer::sign) and beforehand;
//! - [`Keys`] sign them, and [`AwsIdentity`] gets keys that expire;
//! - [`call`] is one request to a service that speaks JSON or forms, [`xml`] reads the answers of
//!   older ones.
//!
//! It blocks, and is small: the shim carries it into steps with `s3` and `registry-image`.
//! *Absent:* the meaning of any service.

mod identity;
mod sign;
pub mod xml;

use std::fmt;

use airside_blocking_http::{Address, Client, Error, Payload, Request, encode};
use jiff::Timestamp;

pub use identity::{AwsIdentity, AwsIdentityError};
pub use sign::{EMPTY, Signer, sha256};

/// No answer of a service that is called here is longer.
const MAX_ANSWER: u64 = 1 << 20;

/// Keys that sign requests.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    pub id: String,
    pub secret: String,
    pub token: Option<String>,
}

impl fmt::Debug for Keys {
    /// Formats the id alone: the rest is secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Keys {
    /// Returns the keys of the environment, by their usual names.
    pub fn of_environment() -> Option<Self> {
        Self::of(&|name| std::env::var(name).ok())
    }

    fn of(environment: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        let variable = |name: &str| environment(name).filter(|value| !value.is_empty());
        Some(Self {
            id: variable("AWS_ACCESS_KEY_ID")?,
            secret: variable("AWS_SECRET_ACCESS_KEY")?,
            token: variable("AWS_SESSION_TOKEN"),
        })
    }
}

/// Returns the address of a service of AWS, unless the environment gives another for all of them.
pub fn endpoint(service: &str, region: &str) -> String {
    std::env::var("AWS_ENDPOINT_URL").unwrap_or_else(|_| {
        let host = match service {
            "ecr" => "api.ecr",
            other => other,
        };
        let domain = if region.starts_with("cn-") {
            "amazonaws.com.cn"
        } else {
            "amazonaws.com"
        };
        format!("https://{host}.{region}.{domain}")
    })
}

/// True if a text can stand in a host's name without leading to another owner's host.
pub fn is_host_part(text: &str) -> bool {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !text.is_empty() && text.bytes().all(fine)
}

/// A signed request to a service at an address, and its answer.
pub fn call(
    client: &Client,
    signer: &Signer<'_>,
    endpoint: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Result<Vec<u8>, Error> {
    let address = Address::parse(endpoint)?;
    let mut request = Request::new("POST", address).payload(Payload::Bytes(body.as_bytes()));
    for (name, value) in headers {
        request = request.header(name, *value);
    }
    let hash = sha256(body.as_bytes());
    let request = signer.sign(request, &hash, Timestamp::now());
    client.fetch(request, MAX_ANSWER)
}

/// Keys that are good for a while, in a role. `None`: the answer has none.
pub fn assume_role(
    client: &Client,
    keys: &Keys,
    region: &str,
    role: &str,
) -> Result<Option<Keys>, Error> {
    let body = format!(
        "Action=AssumeRole&Version=2011-06-15&RoleSessionName=airside&RoleArn={}",
        encode(role, b"")
    );
    let signer = Signer {
        keys,
        region,
        service: "sts",
    };
    let headers = [("Content-Type", "application/x-www-form-urlencoded")];
    let endpoint = endpoint("sts", region);
    let answer = call(client, &signer, &endpoint, &headers, &body)?;
    Ok(keys_in(&String::from_utf8_lossy(&answer)))
}

/// The keys in an answer of STS.
fn keys_in(page: &str) -> Option<Keys> {
    Some(Keys {
        id: xml::text(page, "AccessKeyId")?,
        secret: xml::text(page, "SecretAccessKey")?,
        token: Some(xml::text(page, "SessionToken")?),
    })
}
