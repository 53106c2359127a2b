//! AWS: the parameters of Systems Manager (SSM), and Secrets Manager.

mod secrets_manager;
mod ssm;

use airside_aws::{AwsIdentity, AwsIdentityError, Keys, Signer};
use airside_blocking_http::{Client, RequestTimeouts, Trust};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;

use crate::{Error, Owner, Template};
pub use secrets_manager::{SecretsManager, SecretsManagerSettings};
pub use ssm::{Ssm, SsmSettings};

/// Time limit of one request.
const SILENCE: std::time::Duration = std::time::Duration::from_secs(30);
const IDLE: usize = 8;

/// Settings that both managers have.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct AwsSettings {
    pub access_key: String,
    pub secret_key: String,
    pub session_token: String,
    pub region: String,
    /// Address of the service, if it is not AWS' own.
    #[serde(skip)]
    pub endpoint: Option<String>,
}

/// A service of AWS that speaks JSON.
struct Service {
    name: &'static str,
    region: String,
    endpoint: String,
    identity: AwsIdentity,
    idle: Mutex<Vec<Client>>,
}

impl Service {
    fn new(name: &'static str, settings: &AwsSettings, owner: Owner) -> Result<Self, Error> {
        let region = &settings.region;
        if !airside_aws::is_host_part(region) {
            return Err(Error::Settings(format!(
                "{region:?} is not a region of AWS"
            )));
        }
        let identity = match (&*settings.access_key, &*settings.secret_key) {
            ("", "") if owner == Owner::Pipeline => {
                let words = "a pipeline needs its own access_key and secret_key: it cannot be to AWS \
                             what the server is";
                return Err(Error::Settings(words.to_owned()));
            }
            ("", "") if settings.session_token.is_empty() => AwsIdentity::of_machine(region),
            ("", _) | (_, "") => {
                let words = "an access key and a secret key go together, and one is missing";
                return Err(Error::Settings(words.to_owned()));
            }
            (id, secret) => {
                let token = &settings.session_token;
                let keys = Keys {
                    id: id.to_owned(),
                    secret: secret.to_owned(),
                    token: (!token.is_empty()).then(|| token.clone()),
                };
                AwsIdentity::given(keys, region)
            }
        };
        Ok(Self {
            name,
            region: region.clone(),
            endpoint: match &settings.endpoint {
                Some(endpoint) => endpoint.clone(),
                None => airside_aws::endpoint(name, region),
            },
            identity,
            idle: Mutex::default(),
        })
    }

    fn call(&self, target: &str, body: &Value) -> Result<Value, Refusal> {
        let keys = self.identity.keys().map_err(of_identity)?;
        let signer = Signer {
            keys: &keys,
            region: &self.region,
            service: self.name,
        };
        let client = self.client()?;
        let headers = [
            ("X-Amz-Target", target),
            ("Content-Type", "application/x-amz-json-1.1"),
        ];
        let answer = airside_aws::call(
            &client,
            &signer,
            &self.endpoint,
            &headers,
            &body.to_string(),
        );
        let answer = answer.map_err(|error| match error {
            airside_blocking_http::Error::Status { status, answer, .. } => {
                refusal(target, status, &answer)
            }
            other => Refusal::from(Error::from(other)),
        })?;
        let mut idle = self.idle.lock();
        if idle.len() < IDLE {
            idle.push(client);
        }
        drop(idle);
        let bad = |_| {
            Error::Away(format!(
                "AWS answers {target} with something that is not JSON"
            ))
        };
        serde_json::from_slice(&answer).map_err(|error| bad(error).into())
    }

    fn client(&self) -> Result<Client, Error> {
        if let Some(client) = self.idle.lock().pop() {
            return Ok(client);
        }
        let patience = RequestTimeouts {
            silence: SILENCE,
            // Who asks for secrets has its own second tries.
            tries: 1,
            ..RequestTimeouts::default()
        };
        Ok(Client::with_patience(&Trust::Public, patience)?)
    }
}

/// The reason why a call failed, with AWS's own name for it.
struct Refusal {
    code: String,
    error: Error,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self {
            code: String::new(),
            error,
        }
    }
}

/// `{"__type": "com.amazonaws…#Code", "message": "…"}`; an outage need not say so.
fn refusal(target: &str, status: u16, answer: &str) -> Refusal {
    let said: Value = serde_json::from_str(answer).unwrap_or(Value::Null);
    let code = said
        .get("__type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let code = code.rsplit('#').next().unwrap_or_default().to_owned();
    let message = said.get("message").or_else(|| said.get("Message"));
    let message = message.and_then(Value::as_str).unwrap_or_default();
    let shown = if code.is_empty() {
        status.to_string()
    } else {
        format!("{code}: {message}")
    };
    let words = format!("AWS answers {target} with {shown}");
    let throttled = matches!(
        code.as_str(),
        "ThrottlingException" | "InternalServiceError" | "InternalServerError" | "RequestExpired"
    );
    let error = if throttled {
        Error::Away(words)
    } else {
        Error::of_status(status, words)
    };
    Refusal { code, error }
}

fn of_identity(error: AwsIdentityError) -> Error {
    match error {
        AwsIdentityError::Outbound(error) => error.into(),
        other => Error::Settings(other.to_string()),
    }
}

fn templates(texts: &[&str]) -> Result<Vec<Template>, Error> {
    let parsed = texts.iter().map(|text| Template::parse(text));
    parsed
        .collect::<Result<_, _>>()
        .map_err(|error| Error::Settings(airside_model::chain(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_have_names_and_some_pass() {
        for (status, words, code, transient) in [
            (
                400,
                r#"{"__type":"ParameterNotFound"}"#,
                "ParameterNotFound",
                false,
            ),
            (
                400,
                r#"{"__type":"com.amazonaws.x#ThrottlingException","message":"m"}"#,
                "ThrottlingException",
                true,
            ),
            (
                400,
                r#"{"__type":"AccessDeniedException","Message":"m"}"#,
                "AccessDeniedException",
                false,
            ),
            (503, "<html>", "", true),
            (403, "", "", false),
        ] {
            let refused = refusal("T", status, words);
            assert_eq!(
                (refused.code.as_str(), refused.error.is_transient()),
                (code, transient),
                "{words}"
            );
        }
    }
}
