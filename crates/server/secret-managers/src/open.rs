//! Managers from the settings of var sources.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Error, Manager, Owner, Secret, SecretsManager, Ssm, Vault};

/// A manager that was not asked for this long is forgotten, and its login with it.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);

/// A manager of a pipeline, by the type of its var source. It connects nowhere yet.
pub fn open(type_: &str, config: &Value) -> Result<Box<dyn Manager>, Error> {
    let owner = Owner::Pipeline;
    Ok(match type_ {
        "vault" => Box::new(Vault::new(settings(config)?, owner)?),
        "ssm" => Box::new(Ssm::new(settings(config)?, owner)?),
        "secretsmanager" => Box::new(SecretsManager::new(settings(config)?, owner)?),
        other => {
            let words = format!("there is no secret manager of type {other}");
            return Err(Error::Settings(words));
        }
    })
}

/// Reads settings. An error about a value leaves the value out: it may be a secret.
fn settings<T: DeserializeOwned>(config: &Value) -> Result<T, Error> {
    let mut config = config.clone();
    if let Value::Object(settings) = &mut config {
        // As if it were not there.
        settings.retain(|_, value| !value.is_null());
    }
    serde_json::from_value(config).map_err(|error| {
        let words = airside_model::chain(&error);
        let shown = if words.contains("unknown field") {
            words
        } else {
            "a setting has the wrong type".to_owned()
        };
        Error::Settings(format!("its config is wrong: {shown}"))
    })
}

/// Managers by their settings, so that one login serves many looks.
#[derive(Default)]
pub struct Pool(Mutex<HashMap<String, Used>>);

/// A manager, and when it was last asked.
type Used = (Arc<dyn Manager>, Instant);

impl Pool {
    pub fn read(&self, type_: &str, config: &Value, path: &str) -> Result<Option<Secret>, Error> {
        self.manager(type_, config)?.read(path)
    }

    fn manager(&self, type_: &str, config: &Value) -> Result<Arc<dyn Manager>, Error> {
        let key = format!("{type_} {config}");
        let (mut managers, now) = (self.0.lock(), Instant::now());
        managers.retain(|_, (_, used)| now.duration_since(*used) < FORGOTTEN_AFTER);
        if let Some((manager, used)) = managers.get_mut(&key) {
            *used = now;
            return Ok(manager.clone());
        }
        let manager: Arc<dyn Manager> = open(type_, config)?.into();
        managers.insert(key, (manager.clone(), now));
        Ok(manager)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_wrong_with_settings_is_told_without_secrets() {
        let url = "http://127.0.0.1:1";
        for (type_, config, words) in [
            (
                "vault",
                json!({"client_token": "hunter2"}),
                "Vault's url is missing",
            ),
            (
                "vault",
                json!({"url": url}),
                "Vault needs a client token or an auth backend",
            ),
            (
                "vault",
                json!({"url": url, "client_token": 7}),
                "its config is wrong: a setting has the wrong type",
            ),
            (
                "vault",
                json!({"url": url, "client_token_path": "/f"}),
                "client_token_path names a file of the server",
            ),
            (
                "vault",
                json!({"url": "hunter", "client_token": "x"}),
                "\"hunter\" is not an address of a server",
            ),
            (
                "vault",
                json!({"url": url, "client_token": "x", "lookup_templates": ["{{.X}}"]}),
                "the template",
            ),
            (
                "vault",
                json!({"url": url, "client_token": "x", "client_cert": "x"}),
                "Vault's client certificate",
            ),
            (
                "vault",
                json!({"uri": url}),
                "its config is wrong: unknown field `uri`",
            ),
            (
                "ssm",
                json!({"region": "a.evil.org/"}),
                "\"a.evil.org/\" is not a region of AWS",
            ),
            (
                "ssm",
                json!({"region": "eu-west-1"}),
                "a pipeline needs its own access_key and secret_key",
            ),
            (
                "secretsmanager",
                json!({"region": "eu-west-1", "access_key": "hunter2"}),
                "an access key",
            ),
            (
                "credhub",
                json!({}),
                "there is no secret manager of type credhub",
            ),
        ] {
            let error = open(type_, &config).err().unwrap();
            let told = error.to_string();
            assert!(told.starts_with(words), "{type_}: {told}");
            assert!(!told.contains("hunter2"), "{told}");
            assert!(!error.is_transient());
        }
    }
}
