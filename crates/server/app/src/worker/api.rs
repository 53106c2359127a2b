//! The server's API, with the login that `fly` keeps.

use std::path::{Path, PathBuf};

use airside_blocking_http::{Address, Client, Payload, Request, Trust};
use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;

/// Maximum size of a response.
const LIMIT: u64 = 1 << 20;

pub(super) struct Api {
    client: Client,
    url: String,
    authorization: String,
    target: String,
}

/// A name as part of a path.
pub(super) fn encode(name: &str) -> String {
    airside_blocking_http::encode(name, b"")
}

/// A login that fly saved.
#[derive(Debug, PartialEq, Eq)]
struct Login {
    url: String,
    token: String,
    trust: Trust,
}

impl Api {
    pub(super) fn of_target(target: &str) -> Result<Self> {
        let login = Login::of(&flyrc()?, target)?;
        Ok(Self {
            client: Client::new(&login.trust)?,
            url: login.url,
            authorization: login.token,
            target: target.to_owned(),
        })
    }

    /// The body of an answer that is a success.
    pub(super) fn call(
        &self,
        method: &'static str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Vec<u8>> {
        let address = Address::parse(&format!("{}/api/v1{path}", self.url))?;
        let text = body.map(Value::to_string).unwrap_or_default();
        let mut request =
            Request::new(method, address).header("Authorization", &self.authorization);
        if body.is_some() {
            request = request
                .header("Content-Type", "application/json")
                .payload(Payload::Bytes(text.as_bytes()));
        }
        let answer = self.client.send(request)?;
        let (status, fine) = (answer.status, answer.is_success());
        let body = answer.bytes(LIMIT)?;
        match status {
            _ if fine => Ok(body),
            401 => bail!(
                "the login is not valid any more; log in again with `fly -t {} login`",
                self.target
            ),
            403 => bail!("only administrators, owners of team main, may do this"),
            404 => bail!("the server has no worker or agent of that name"),
            _ => bail!(
                "the server answers {status}: {}",
                String::from_utf8_lossy(&body).trim()
            ),
        }
    }
}

fn flyrc() -> Result<PathBuf> {
    let home = std::env::var_os("FLY_HOME").or_else(|| std::env::var_os("HOME"));
    let home = home.context("HOME is not set, so that fly's logins are not found")?;
    Ok(PathBuf::from(home).join(".flyrc"))
}

impl Login {
    fn of(file: &Path, target: &str) -> Result<Self> {
        let hint = || format!("log in first, with `fly -t {target} login -c URL`");
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read {}; {}", file.display(), hint()))?;
        let parsed = airside_yaml::parse(&text).and_then(|node| node.to_json());
        let known = parsed.with_context(|| format!("cannot understand {}", file.display()))?;
        let known = &known["targets"][target];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let url = text(&known["api"])
            .ok_or_else(|| anyhow!("{} has no target `{target}`; {}", file.display(), hint()))?;
        let token = text(&known["token"]["value"])
            .ok_or_else(|| anyhow!("target `{target}` is logged out; {}", hint()))?;
        let trust = match (known["insecure"].as_bool(), text(&known["ca_cert"])) {
            (Some(true), _) => Trust::Anybody,
            (_, Some(certificate)) if !certificate.is_empty() => Trust::Also(vec![certificate]),
            _ => Trust::Public,
        };
        Ok(Self {
            url: url.trim_end_matches('/').to_owned(),
            token: format!("Bearer {token}"),
            trust,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logins_are_those_of_fly() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".flyrc");
        let missing = Login::of(&file, "ci").unwrap_err();
        assert!(missing.to_string().contains("fly -t ci login"), "{missing}");
        let text = "targets:\n  ci:\n    api: https://ci.example.com/\n    team: main\n    ca_cert: PEM\n    token:\n      \
                    type: bearer\n      value: abc\n  out:\n    api: http://localhost\n    insecure: true\n";
        std::fs::write(&file, text).unwrap();
        let login = Login::of(&file, "ci").unwrap();
        let expected = Login {
            url: "https://ci.example.com".to_owned(),
            token: "Bearer abc".to_owned(),
            trust: Trust::Also(vec!["PEM".to_owned()]),
        };
        assert_eq!(login, expected);
        for (target, words) in [("nobody", "has no target"), ("out", "is logged out")] {
            let error = Login::of(&file, target).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
