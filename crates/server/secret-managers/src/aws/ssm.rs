//! The parameter store of AWS Systems Manager.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{AwsSettings, SILENCE, Service, templates};
use crate::{Asker, Error, Manager, Owner, Secret, places::Places};

#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SsmSettings {
    #[serde(flatten)]
    pub aws: AwsSettings,
    pub pipeline_secret_template: String,
    pub team_secret_template: String,
    pub shared_path: String,
    /// Names of parameters for all teams may have a `/` if they begin with one of these.
    #[serde(skip)]
    pub shared_prefixes: Vec<String>,
}

impl Default for SsmSettings {
    fn default() -> Self {
        Self {
            aws: AwsSettings::default(),
            pipeline_secret_template: "/concourse/{{.Team}}/{{.Pipeline}}/{{.Secret}}".to_owned(),
            team_secret_template: "/concourse/{{.Team}}/{{.Secret}}".to_owned(),
            shared_path: String::new(),
            shared_prefixes: Vec::new(),
        }
    }
}

pub struct Ssm {
    settings: SsmSettings,
    places: Places,
    service: Service,
}

impl Ssm {
    pub fn new(settings: SsmSettings, owner: Owner) -> Result<Self, Error> {
        let shared = settings.shared_path.trim_end_matches('/');
        let shared = (!shared.is_empty()).then(|| format!("{shared}/{{{{.Secret}}}}"));
        let mut texts = vec![
            &*settings.pipeline_secret_template,
            &settings.team_secret_template,
        ];
        texts.extend(shared.as_deref());
        Ok(Self {
            places: Places::new(templates(&texts)?, owner, &settings.shared_prefixes)?,
            service: Service::new("ssm", &settings.aws, owner)?,
            settings,
        })
    }

    fn parameter(&self, name: &str) -> Result<Option<Value>, Error> {
        let body = json!({"Name": name, "WithDecryption": true});
        match self.service.call("AmazonSSM.GetParameter", &body) {
            Ok(answer) => Ok(answer.pointer("/Parameter/Value").cloned()),
            Err(refused) if refused.code == "ParameterNotFound" => Ok(None),
            Err(refused) => Err(refused.error),
        }
    }

    /// All parameters under a path, by the rest of their names.
    fn parameters_under(&self, path: &str) -> Result<Option<Value>, Error> {
        let path = path.trim_end_matches('/');
        let (mut found, mut next) = (Map::new(), Value::Null);
        loop {
            let mut body = json!({"Path": path, "Recursive": true, "WithDecryption": true,
                "MaxResults": 10});
            if !next.is_null() {
                body["NextToken"] = next;
            }
            let answer = self.service.call("AmazonSSM.GetParametersByPath", &body);
            let answer = answer.map_err(|refused| refused.error)?;
            let parameters = answer.get("Parameters").and_then(Value::as_array);
            for parameter in parameters.into_iter().flatten() {
                let name = parameter.get("Name").and_then(Value::as_str);
                let rest = name.and_then(|name| name.strip_prefix(path)?.strip_prefix('/'));
                if let (Some(rest), Some(value)) = (rest, parameter.get("Value")) {
                    found.insert(rest.to_owned(), value.clone());
                }
            }
            next = answer.get("NextToken").cloned().unwrap_or_default();
            if next.as_str().is_none_or(str::is_empty) {
                return Ok((!found.is_empty()).then_some(Value::Object(found)));
            }
        }
    }
}

impl Manager for Ssm {
    fn paths(&self, asker: &Asker, name: &str) -> Result<Vec<String>, Error> {
        self.places.paths(asker, name)
    }

    fn read(&self, path: &str) -> Result<Option<Secret>, Error> {
        let found = match self.parameter(path)? {
            Some(value) => Some(value),
            // It may be the folder of a team, by the name of that team.
            None if self.places.may_hold_teams(path) => None,
            None => self.parameters_under(path)?,
        };
        Ok(found.map(Secret::new))
    }

    fn patience(&self) -> Duration {
        SILENCE * 4
    }

    fn shown(&self) -> Value {
        let settings = &self.settings;
        json!({
            "aws_region": settings.aws.region,
            "pipeline_secret_template": settings.pipeline_secret_template,
            "team_secret_template": settings.team_secret_template,
            "shared_path": settings.shared_path,
        })
    }

    fn health(&self) -> (&'static str, Result<Value, Error>) {
        let body = json!({"Name": "__concourse-health-check", "WithDecryption": true});
        let asked = self.service.call("AmazonSSM.GetParameter", &body);
        let healthy = match asked {
            Ok(_) => Ok(()),
            // It answers; that is all that was asked.
            Err(refused)
                if matches!(
                    &*refused.code,
                    "ParameterNotFound" | "AccessDeniedException"
                ) =>
            {
                Ok(())
            }
            Err(refused) => Err(refused.error),
        };
        ("GetParameter", healthy.map(|()| json!({"status": "UP"})))
    }
}
