//! Keys of this machine for AWS: from the environment, a role by web identity (as in EKS), or the
//! own role of a container or a virtual machine.

use std::time::Duration;

use airside_blocking_http::{
    Address, Client, Error, Payload, Request, RequestTimeouts, Trust, encode,
};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde::Deserialize;

use crate::{Keys, endpoint, keys_in, xml};

/// Address of the metadata service of a virtual machine.
const MACHINE: &str = "http://169.254.169.254";
/// Address of the credentials service of a container that is given only a path.
const CONTAINER: &str = "http://169.254.170.2";
const MAX_ANSWER: u64 = 1 << 20;
/// Time before their end at which keys are replaced.
const EARLY: Duration = Duration::from_secs(300);

#[derive(Debug, thiserror::Error)]
pub enum AwsIdentityError {
    #[error(transparent)]
    Outbound(#[from] Error),
    #[error("cannot read {path}, which {variable} names: {source}")]
    File {
        path: String,
        variable: &'static str,
        #[source]
        source: std::io::Error,
    },
    #[error("{from} answers without keys")]
    NoKeys { from: &'static str },
    #[error(
        "this server has no identity at AWS: there are no keys in the settings or the environment, no \
         AWS_WEB_IDENTITY_TOKEN_FILE, no AWS_CONTAINER_CREDENTIALS_FULL_URI, and no metadata of a virtual \
         machine ({0})"
    )]
    Nobody(String),
}

type Environment = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// A source of keys. Keys that expire are kept until then.
pub struct AwsIdentity {
    given: Option<Keys>,
    region: String,
    environment: Environment,
    /// Address of the metadata service of a virtual machine.
    machine: String,
    kept: Mutex<Option<(Keys, Timestamp)>>,
}

impl AwsIdentity {
    pub fn given(keys: Keys, region: &str) -> Self {
        let mut identity = Self::of_machine(region);
        identity.given = Some(keys);
        identity
    }

    /// Returns the identity of this machine, whatever it is.
    pub fn of_machine(region: &str) -> Self {
        Self {
            given: None,
            region: region.to_owned(),
            environment: Box::new(|name| std::env::var(name).ok()),
            machine: MACHINE.to_owned(),
            kept: Mutex::default(),
        }
    }

    pub fn keys(&self) -> Result<Keys, AwsIdentityError> {
        let lasting = || Keys::of(&*self.environment);
        if let Some(keys) = self.given.clone().or_else(lasting) {
            return Ok(keys);
        }
        let mut kept = self.kept.lock();
        let early = Timestamp::now() + EARLY;
        if let Some((keys, _)) = kept.as_ref().filter(|(_, until)| *until > early) {
            return Ok(keys.clone());
        }
        let (keys, until) = self.fetch()?;
        *kept = Some((keys.clone(), until));
        Ok(keys)
    }

    fn variable(&self, name: &str) -> Option<String> {
        (self.environment)(name).filter(|value| !value.is_empty())
    }

    fn fetch(&self) -> Result<(Keys, Timestamp), AwsIdentityError> {
        let patience = RequestTimeouts {
            connect: Duration::from_secs(5),
            silence: Duration::from_secs(20),
            tries: 2,
            ..RequestTimeouts::default()
        };
        let client = Client::with_patience(&Trust::Public, patience)?;
        if let Some(path) = self.variable("AWS_WEB_IDENTITY_TOKEN_FILE") {
            return self.web_identity(&client, &path);
        }
        let whole = self.variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
        let relative = self.variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
        let relative = relative.map(|path| format!("{CONTAINER}{path}"));
        match whole.or(relative) {
            Some(url) => self.container(&client, &url),
            None => self
                .virtual_machine(&client)
                .map_err(|error| AwsIdentityError::Nobody(error.to_string())),
        }
    }

    fn web_identity(
        &self,
        client: &Client,
        path: &str,
    ) -> Result<(Keys, Timestamp), AwsIdentityError> {
        let token = read("AWS_WEB_IDENTITY_TOKEN_FILE", path)?;
        let role = self.variable("AWS_ROLE_ARN").unwrap_or_default();
        let session = self.variable("AWS_ROLE_SESSION_NAME");
        let body = format!(
            "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleSessionName={}&RoleArn={}\
             &WebIdentityToken={}",
            encode(session.as_deref().unwrap_or("airside"), b""),
            encode(&role, b""),
            encode(token.trim(), b"")
        );
        let address = Address::parse(&endpoint("sts", &self.region))?;
        let request = Request::new("POST", address)
            .header("Content-Type", "application/x-www-form-urlencoded")
            .payload(Payload::Bytes(body.as_bytes()));
        let answer = client.fetch(request, MAX_ANSWER)?;
        let page = String::from_utf8_lossy(&answer);
        let until = xml::text(&page, "Expiration").and_then(|text| text.parse().ok());
        let keys = keys_in(&page).zip(until);
        keys.ok_or(AwsIdentityError::NoKeys { from: "STS" })
    }

    fn container(&self, client: &Client, url: &str) -> Result<(Keys, Timestamp), AwsIdentityError> {
        let mut request = Request::get(Address::parse(url)?);
        let file = self.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
        let token = match file {
            Some(path) => Some(read("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", &path)?),
            None => self.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN"),
        };
        if let Some(token) = token {
            request = request.header("Authorization", token.trim());
        }
        let answer = client.fetch(request, MAX_ANSWER)?;
        let from = "the container's credentials endpoint";
        role_keys(&answer).ok_or(AwsIdentityError::NoKeys { from })
    }

    fn virtual_machine(&self, client: &Client) -> Result<(Keys, Timestamp), AwsIdentityError> {
        let address = |path: &str| Address::parse(&format!("{}/latest/{path}", self.machine));
        let request = Request::new("PUT", address("api/token")?)
            .header("X-aws-ec2-metadata-token-ttl-seconds", "300");
        let token = client.fetch(request, MAX_ANSWER)?;
        let token = String::from_utf8_lossy(&token).trim().to_owned();
        let get = |path: &str| -> Result<Vec<u8>, AwsIdentityError> {
            let request = Request::get(address(path)?);
            let request = request.header("X-aws-ec2-metadata-token", &token);
            Ok(client.fetch(request, MAX_ANSWER)?)
        };
        let roles = "meta-data/iam/security-credentials/";
        let role = get(roles)?;
        let role = String::from_utf8_lossy(&role);
        let role = role.lines().next().unwrap_or_default().trim();
        let answer = get(&format!("{roles}{}", encode(role, b"")))?;
        let from = "the metadata of this virtual machine";
        role_keys(&answer).ok_or(AwsIdentityError::NoKeys { from })
    }
}

fn role_keys(answer: &[u8]) -> Option<(Keys, Timestamp)> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Answer {
        access_key_id: String,
        secret_access_key: String,
        token: Option<String>,
        expiration: String,
    }
    let answer: Answer = serde_json::from_slice(answer).ok()?;
    let keys = Keys {
        id: answer.access_key_id,
        secret: answer.secret_access_key,
        token: answer.token,
    };
    Some((keys, answer.expiration.parse().ok()?))
}

fn read(variable: &'static str, path: &str) -> Result<String, AwsIdentityError> {
    std::fs::read_to_string(path).map_err(|source| AwsIdentityError::File {
        path: path.to_owned(),
        variable,
        source,
    })
}

#[cfg(test)]
mod tests;
