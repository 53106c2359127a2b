//! Parts of AWS that several types need: roles, and the way into its registries.

use std::sync::atomic::{AtomicBool, Ordering};

use airside_blocking_http::{Client, Trust};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde::Deserialize;

pub(crate) use airside_aws::{EMPTY, Keys, Signer, sha256, xml};

use crate::Failure;

/// Says that this process is a step's own: what its environment holds, the step's author put there.
static IS_STEP: AtomicBool = AtomicBool::new(false);

/// Lets sources without keys use those of the environment. Only the program of a step's own
/// container may call it: the environment of any other process is the operator's.
pub(crate) fn trust_environment() {
    IS_STEP.store(true, Ordering::Relaxed);
}

/// The keys of a step's own environment, by their usual names.
pub(crate) fn keys_of_environment() -> Option<Keys> {
    let trusted = IS_STEP.load(Ordering::Relaxed);
    trusted.then(Keys::of_environment).flatten()
}

/// The way into a registry.
pub(crate) struct Login {
    pub(crate) user: String,
    pub(crate) password: String,
    pub(crate) host: String,
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
    let given = keys.clone().or_else(keys_of_environment);
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
    let answer = airside_aws::call(
        &Client::new(&Trust::Public)?,
        &signer,
        &airside_aws::endpoint("ecr", region),
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

impl Login {
    /// The host of an account's registry: beside the one that the login names, and nowhere else.
    pub(crate) fn host_of(&self, account: Option<&str>) -> Result<String, Failure> {
        let Some(account) = account else {
            return Ok(self.host.clone());
        };
        host_part("aws_account_id", account)?;
        let beside = self.host.split_once('.').map(|(_, rest)| rest);
        match beside.filter(|rest| rest.starts_with("dkr.ecr.")) {
            Some(rest) => Ok(format!("{account}.{rest}")),
            None => {
                let words = format!(
                    "has no registry beside {}, which the login is for",
                    self.host
                );
                Err(Failure::source("aws_account_id", words))
            }
        }
    }
}

/// Keys that are good for a while, in a role.
pub(crate) fn assume_role(keys: &Keys, region: &str, role: &str) -> Result<Keys, Failure> {
    let client = Client::new(&Trust::Public)?;
    let assumed = airside_aws::assume_role(&client, keys, region, role)?;
    assumed.ok_or_else(|| Failure::said(format!("AWS answers for {role} without keys")))
}

/// Refuses what would change the host that it becomes part of.
pub(crate) fn host_part(key: &str, text: &str) -> Result<(), Failure> {
    if airside_aws::is_host_part(text) {
        Ok(())
    } else {
        Err(Failure::source(
            key,
            format!("is {text:?}, which is not part of a host"),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_accounts_do_not_choose_the_host_that_gets_the_login() {
        let login = |host: &str| Login {
            user: "AWS".to_owned(),
            password: "p".to_owned(),
            host: host.to_owned(),
        };
        let own = login("123456789012.dkr.ecr.eu-1.amazonaws.com");
        let host = |account| own.host_of(account).map_err(|failure| failure.to_string());
        assert_eq!(host(None).unwrap(), own.host);
        assert_eq!(
            host(Some("210987654321")).unwrap(),
            "210987654321.dkr.ecr.eu-1.amazonaws.com"
        );
        for bad in [
            "evil.example/x",
            "127.0.0.1:1/x",
            "a.b",
            "",
            "evil.example#",
        ] {
            let words = host(Some(bad)).unwrap_err();
            assert!(words.starts_with("source.aws_account_id "), "{words}");
        }
        assert!(login("127.0.0.1:5000").host_of(Some("1")).is_err());
    }
}
