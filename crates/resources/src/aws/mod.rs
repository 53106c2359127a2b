//! What several types need of AWS: signatures, roles, and the way into its registries.

mod sign;
pub(crate) mod xml;

use airside_outbound::{Address, Client, Payload, Request, Trust, encode};
use base64::{Engine, prelude::BASE64_STANDARD};
use jiff::Timestamp;
use serde::Deserialize;

pub(crate) use sign::{EMPTY, Signer, sha256};

use crate::Failure;

const MAX_ANSWER: u64 = 1 << 20;

/// Who signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(crate) id: String,
    pub(crate) secret: String,
    pub(crate) token: Option<String>,
}

impl Keys {
    /// Those of the environment, by their usual names.
    pub(crate) fn of_environment() -> Option<Self> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Some(Self {
            id: variable("AWS_ACCESS_KEY_ID")?,
            secret: variable("AWS_SECRET_ACCESS_KEY")?,
            token: variable("AWS_SESSION_TOKEN"),
        })
    }
}

/// The way into a registry.
pub(crate) struct Login {
    pub(crate) user: String,
    pub(crate) password: String,
    pub(crate) host: String,
}

/// Where a service of AWS is, unless the environment says otherwise for all of them.
fn endpoint(service: &str, region: &str) -> String {
    std::env::var("AWS_ENDPOINT_URL").unwrap_or_else(|_| {
        let host = match service {
            "ecr" => "api.ecr",
            other => other,
        };
        format!("https://{host}.{region}.amazonaws.com")
    })
}

pub(crate) fn ecr_login(
    keys: &Option<Keys>,
    region: &str,
    roles: &[String],
) -> Result<Login, Failure> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer {
        authorization_data: Vec<Data>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Data {
        authorization_token: String,
        proxy_endpoint: String,
    }
    host_part("aws_region", region)?;
    let given = keys.clone().or_else(Keys::of_environment);
    let mut keys = given.ok_or_else(|| {
        let words = "and source.aws_secret_access_key are needed to log in to ECR";
        Failure::source("aws_access_key_id", words)
    })?;
    for role in roles {
        keys = assume_role(&keys, region, role)?;
    }
    let signer = Signer {
        keys: &keys,
        region,
        service: "ecr",
    };
    let answer = call(
        &signer,
        &[
            (
                "X-Amz-Target",
                "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken",
            ),
            ("Content-Type", "application/x-amz-json-1.1"),
        ],
        "{}",
    )?;
    let bad = || Failure::said("ECR answers the login without a token");
    let answer: Answer = serde_json::from_slice(&answer).map_err(|_| bad())?;
    let data = answer
        .authorization_data
        .into_iter()
        .next()
        .ok_or_else(bad)?;
    let token = BASE64_STANDARD
        .decode(data.authorization_token)
        .map_err(|_| bad())?;
    let token = String::from_utf8(token).map_err(|_| bad())?;
    let (user, password) = token.split_once(':').ok_or_else(bad)?;
    let host = data
        .proxy_endpoint
        .split_once("://")
        .map_or("", |(_, host)| host);
    Ok(Login {
        user: user.to_owned(),
        password: password.trim().to_owned(),
        host: host.trim_end_matches('/').to_owned(),
    })
}

/// Keys that are good for a while, in a role.
pub(crate) fn assume_role(keys: &Keys, region: &str, role: &str) -> Result<Keys, Failure> {
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
    let answer = call(&signer, &headers, &body)?;
    let page = String::from_utf8_lossy(&answer);
    let part = |name: &str| {
        let found = xml::text(&page, name);
        found.ok_or_else(|| Failure::said(format!("AWS answers for {role} without {name}")))
    };
    Ok(Keys {
        id: part("AccessKeyId")?,
        secret: part("SecretAccessKey")?,
        token: Some(part("SessionToken")?),
    })
}

fn call(signer: &Signer<'_>, headers: &[(&str, &str)], body: &str) -> Result<Vec<u8>, Failure> {
    let client = Client::new(&Trust::Public)?;
    let address = Address::parse(&endpoint(signer.service, signer.region))?;
    let mut request = Request::new("POST", address).payload(Payload::Bytes(body.as_bytes()));
    for (name, value) in headers {
        request = request.header(name, *value);
    }
    let hash = sha256(body.as_bytes());
    let request = signer.sign(request, &hash, Timestamp::now());
    Ok(client.fetch(request, MAX_ANSWER)?)
}

/// Refuses what would change the host that it becomes part of.
pub(crate) fn host_part(key: &str, text: &str) -> Result<(), Failure> {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    match !text.is_empty() && text.bytes().all(fine) {
        true => Ok(()),
        false => Err(Failure::source(
            key,
            format!("is {text:?}, which is no part of a host"),
        )),
    }
}
