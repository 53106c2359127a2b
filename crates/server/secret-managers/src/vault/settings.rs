//! Settings of a Vault, by the names that Concourse has for them.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use airside_model::read_duration;
use serde::{Deserialize, Deserializer, de::Error as _};

use crate::{Error, Owner};

/// The longest that one question to Vault may take.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VaultSettings {
    pub url: String,
    pub path_prefix: String,
    pub lookup_templates: Vec<String>,
    pub shared_path: String,
    /// Names of secrets for all teams may have a `/` if they begin with one of these.
    #[serde(skip)]
    pub shared_prefixes: Vec<String>,
    pub namespace: String,
    #[serde(deserialize_with = "duration")]
    pub login_timeout: Duration,
    #[serde(deserialize_with = "duration")]
    pub query_timeout: Duration,
    pub enable_kv_mount_cache: bool,
    /// Setting that has no effect: hosts are never looked up by service records here.
    pub disable_srv_lookup: bool,
    pub ca_cert: String,
    pub client_cert: String,
    pub client_key: String,
    pub server_name: String,
    pub insecure_skip_verify: bool,
    pub client_token: String,
    pub client_token_path: String,
    pub auth_backend: String,
    #[serde(deserialize_with = "duration")]
    pub auth_backend_max_ttl: Duration,
    #[serde(deserialize_with = "duration")]
    pub auth_retry_max: Duration,
    #[serde(deserialize_with = "duration")]
    pub auth_retry_initial: Duration,
    pub auth_params: BTreeMap<String, String>,
    /// Parameters that stand in files and are read at each login; for the whole installation only.
    #[serde(skip)]
    pub auth_param_files: BTreeMap<String, PathBuf>,
}

impl Default for VaultSettings {
    fn default() -> Self {
        Self {
            url: String::new(),
            path_prefix: "/concourse".to_owned(),
            lookup_templates: vec![
                "/{{.Team}}/{{.Pipeline}}/{{.Secret}}".to_owned(),
                "/{{.Team}}/{{.Secret}}".to_owned(),
            ],
            shared_path: String::new(),
            shared_prefixes: Vec::new(),
            namespace: String::new(),
            login_timeout: Duration::from_secs(60),
            query_timeout: Duration::from_secs(60),
            enable_kv_mount_cache: false,
            disable_srv_lookup: false,
            ca_cert: String::new(),
            client_cert: String::new(),
            client_key: String::new(),
            server_name: String::new(),
            insecure_skip_verify: false,
            client_token: String::new(),
            client_token_path: String::new(),
            auth_backend: String::new(),
            auth_backend_max_ttl: Duration::ZERO,
            auth_retry_max: Duration::from_secs(300),
            auth_retry_initial: Duration::from_secs(1),
            auth_params: BTreeMap::new(),
            auth_param_files: BTreeMap::new(),
        }
    }
}

impl fmt::Debug for VaultSettings {
    /// Formats all but what may be secret, which is nearly everything.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VaultSettings")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl VaultSettings {
    pub(super) fn check(&self, owner: Owner) -> Result<(), Error> {
        let wrong = |words: &str| Err(Error::Settings(words.to_owned()));
        if self.url.is_empty() {
            return wrong("Vault's url is missing");
        }
        if self.path_prefix.is_empty() {
            return wrong("Vault's path prefix must be a non-empty string");
        }
        if owner == Owner::Pipeline && !self.client_token_path.is_empty() {
            return wrong(
                "client_token_path names a file of the server, and a pipeline may read none; use client_token",
            );
        }
        let waits = [
            ("login_timeout", self.login_timeout),
            ("query_timeout", self.query_timeout),
        ];
        if let Some((name, _)) = waits.iter().find(|(_, wait)| *wait > LONGEST_WAIT) {
            return wrong(&format!("Vault's {name} may be an hour at most"));
        }
        let can_log_in = [
            &self.client_token,
            &self.client_token_path,
            &self.auth_backend,
        ];
        if can_log_in.iter().all(|part| part.is_empty()) {
            return wrong("Vault needs a client token or an auth backend");
        }
        if self.client_cert.is_empty() != self.client_key.is_empty() {
            return wrong(
                "Vault's client certificate and client key go together, and one is missing",
            );
        }
        Ok(())
    }
}

fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(from)?;
    read_duration(&text).map_err(|why| D::Error::custom(format!("{text:?} {why}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(name: &str, time: &str) -> String {
        let mut config = json!({"url": "https://vault.test", "client_token": "t"});
        config[name] = json!(time);
        let read: Result<VaultSettings, _> = serde_json::from_value(config);
        match read {
            Ok(settings) => settings
                .check(Owner::Pipeline)
                .map_or_else(|error| error.to_string(), |()| String::new()),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn hostile_timeouts_are_refused_with_words() {
        for name in ["login_timeout", "query_timeout"] {
            assert_eq!(refused(name, "1h"), "");
            assert!(refused(name, "61m").contains("an hour at most"), "{name}");
        }
        for name in ["login_timeout", "query_timeout", "auth_retry_max"] {
            let words = refused(name, "5000000000000000h");
            assert!(words.contains("longer than ten years"), "{name}: {words}");
        }
    }
}
