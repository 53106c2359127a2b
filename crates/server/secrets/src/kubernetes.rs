//! Secrets of a Kubernetes cluster: a namespace for each team.

use std::path::PathBuf;

use airside_runtime_kubernetes::{SecretReader, SecretsError};
use airside_secret_managers::{Asker, Error, Secret};
use async_trait::async_trait;
use serde_json::{Value, json};

use crate::keeper::Keeper;

/// The longest name that an object of Kubernetes can have.
const MAX_NAME_BYTES: usize = 253;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubernetesSettings {
    /// File of a kubeconfig; without it, the account of the pod that this server runs in.
    pub kubeconfig: Option<PathBuf>,
    /// A team's secrets are in the namespace of this and its name.
    pub namespace_prefix: String,
    /// Secrets of all teams are in the namespace of the prefix and this.
    pub shared_namespace_suffix: Option<String>,
}

impl KubernetesSettings {
    pub(crate) fn shown(&self) -> Value {
        json!({
            "in_cluster_config": self.kubeconfig.is_none(),
            "config_path": self.kubeconfig,
            "namespace_config": self.namespace_prefix,
            "namespace_shared_config": self.shared_namespace_suffix.as_deref().unwrap_or_default(),
        })
    }

    /// `namespace/name`, the most particular first. What cannot be a name of Kubernetes names
    /// nothing. A team whose namespace would be the one of all teams has none of its own.
    fn paths(&self, asker: &Asker, name: &str) -> Vec<String> {
        let own = format!("{}{}", self.namespace_prefix, asker.team);
        let shared = self.shared_namespace_suffix.as_ref();
        let shared = shared.map(|suffix| format!("{}{suffix}", self.namespace_prefix));
        let own = Some(own).filter(|own| shared.as_ref() != Some(own));
        let particular = asker.pipeline.as_ref().zip(own.clone());
        let particular = particular.map(|(pipeline, own)| (own, format!("{pipeline}.{name}")));
        particular
            .into_iter()
            .chain(own.map(|own| (own, name.to_owned())))
            .chain(shared.map(|namespace| (namespace, name.to_owned())))
            .filter(|(namespace, name)| is_name(namespace) && is_name(name))
            .map(|(namespace, name)| format!("{namespace}/{name}"))
            .collect()
    }
}

fn is_name(text: &str) -> bool {
    let inner =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    let outer = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= MAX_NAME_BYTES
        && bytes.iter().all(|byte| inner(*byte))
        && outer(bytes.first())
        && outer(bytes.last())
}

#[derive(Clone)]
pub(crate) struct Kubernetes {
    pub(crate) settings: KubernetesSettings,
    pub(crate) reader: SecretReader,
}

#[async_trait]
impl Keeper for Kubernetes {
    fn paths(&self, asker: &Asker, name: &str) -> Result<Vec<String>, Error> {
        Ok(self.settings.paths(asker, name))
    }

    async fn read(&self, _: &Asker, path: &str) -> Result<Option<Secret>, Error> {
        let Some((namespace, name)) = path.split_once('/') else {
            return Ok(None);
        };
        let found = self.reader.read(namespace, name).await.map_err(told)?;
        Ok(found.map(|fields| {
            let value = fields.get("value").map(|value| json!(value));
            Secret::new(value.unwrap_or_else(|| json!(fields)))
        }))
    }
}

fn told(error: SecretsError) -> Error {
    if error.is_transient() {
        Error::Away(airside_model::chain(&error))
    } else {
        Error::Refused(airside_model::chain(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_looked_up_in_the_namespace_of_their_team() {
        let mut settings = KubernetesSettings {
            kubeconfig: None,
            namespace_prefix: "concourse-".to_owned(),
            shared_namespace_suffix: None,
        };
        let mut asker = Asker {
            team: "main".to_owned(),
            pipeline: Some("p".to_owned()),
            ..Asker::default()
        };
        assert_eq!(
            settings.paths(&asker, "a"),
            ["concourse-main/p.a", "concourse-main/a"]
        );
        settings.shared_namespace_suffix = Some("all".to_owned());
        let expected = ["concourse-main/p.a", "concourse-main/a", "concourse-all/a"];
        assert_eq!(settings.paths(&asker, "a"), expected);
        asker.pipeline = None;
        assert_eq!(
            settings.paths(&asker, "a"),
            ["concourse-main/a", "concourse-all/a"]
        );
        for name in ["A", "a/b", "../a", "", "-a", "a_b"] {
            assert_eq!(settings.paths(&asker, name), [""; 0], "{name}");
        }
        asker.team = "all".to_owned();
        asker.pipeline = Some("p".to_owned());
        assert_eq!(settings.paths(&asker, "a"), ["concourse-all/a"]);
        asker.team = "../x".to_owned();
        assert_eq!(settings.paths(&asker, "a"), ["concourse-all/a"]);
    }
}
