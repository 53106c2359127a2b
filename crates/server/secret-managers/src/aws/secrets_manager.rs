//! AWS Secrets Manager.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{AwsSettings, SILENCE, Service, templates};
use crate::{Asker, Error, Manager, Owner, Secret, places::Places};

#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SecretsManagerSettings {
    #[serde(flatten)]
    pub aws: AwsSettings,
    pub pipeline_secret_template: String,
    pub team_secret_template: String,
    pub shared_secret_template: String,
    /// Names of secrets for all teams may have a `/` if they begin with one of these.
    #[serde(skip)]
    pub shared_prefixes: Vec<String>,
}

impl Default for SecretsManagerSettings {
    fn default() -> Self {
        Self {
            aws: AwsSettings::default(),
            pipeline_secret_template: "/concourse/{{.Team}}/{{.Pipeline}}/{{.Secret}}".to_owned(),
            team_secret_template: "/concourse/{{.Team}}/{{.Secret}}".to_owned(),
            shared_secret_template: "/concourse/{{.Secret}}".to_owned(),
            shared_prefixes: Vec::new(),
        }
    }
}

pub struct SecretsManager {
    settings: SecretsManagerSettings,
    places: Places,
    service: Service,
}

impl SecretsManager {
    pub fn new(settings: SecretsManagerSettings, owner: Owner) -> Result<Self, Error> {
        let texts = [
            &*settings.pipeline_secret_template,
            &settings.team_secret_template,
            &settings.shared_secret_template,
        ];
        Ok(Self {
            places: Places::new(templates(&texts)?, owner, &settings.shared_prefixes)?,
            service: Service::new("secretsmanager", &settings.aws, owner)?,
            settings,
        })
    }

    fn secret(&self, name: &str) -> Result<Option<Value>, Error> {
        let body = json!({"SecretId": name});
        let answer = match self.service.call("secretsmanager.GetSecretValue", &body) {
            Ok(answer) => answer,
            // The second: it is marked for deletion.
            Err(refused)
                if matches!(
                    &*refused.code,
                    "ResourceNotFoundException" | "InvalidRequestException"
                ) =>
            {
                return Ok(None);
            }
            Err(refused) => return Err(refused.error),
        };
        if let Some(text) = answer.get("SecretString").and_then(Value::as_str) {
            let fields = serde_json::from_str::<Map<String, Value>>(text);
            return Ok(Some(match fields {
                Ok(fields) => Value::Object(fields),
                Err(_) => Value::String(text.to_owned()),
            }));
        }
        let bytes = answer.get("SecretBinary").and_then(Value::as_str);
        let bytes = bytes.and_then(|text| BASE64_STANDARD.decode(text).ok());
        let fields = bytes.and_then(|bytes| serde_json::from_slice::<Map<_, _>>(&bytes).ok());
        let words = || Error::Refused(format!("the binary secret {name} is not a JSON object"));
        fields
            .map(|fields| Some(Value::Object(fields)))
            .ok_or_else(words)
    }
}

impl Manager for SecretsManager {
    fn paths(&self, asker: &Asker, name: &str) -> Result<Vec<String>, Error> {
        self.places.paths(asker, name)
    }

    fn read(&self, path: &str) -> Result<Option<Secret>, Error> {
        Ok(self.secret(path)?.map(Secret::new))
    }

    fn patience(&self) -> Duration {
        SILENCE * 2
    }

    fn shown(&self) -> Value {
        let settings = &self.settings;
        json!({
            "aws_region": settings.aws.region,
            "pipeline_secret_template": settings.pipeline_secret_template,
            "team_secret_template": settings.team_secret_template,
            "shared_secret_template": settings.shared_secret_template,
        })
    }

    fn health(&self) -> (&'static str, Result<Value, Error>) {
        let asked = self.secret("__concourse-health-check");
        ("GetSecretValue", asked.map(|_| json!({"status": "UP"})))
    }
}
