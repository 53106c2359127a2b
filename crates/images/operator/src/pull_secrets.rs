//! Reads the pull secrets that sets name, each when it is needed. Nothing of them is kept.

use airside_image_rules::PullLogin;
use airside_oci::Repository;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};

use crate::{
    docker_config::{BadDockerConfig, DockerConfig},
    monitor::Secrets,
};

const KEY: &str = ".dockerconfigjson";

#[derive(Debug, thiserror::Error)]
pub(crate) enum SecretsError {
    #[error("there is no secret {namespace}/{name}; make it, or take its name out of pullSecrets")]
    Missing { namespace: String, name: String },
    #[error("the secret {namespace}/{name} cannot be read")]
    Read {
        namespace: String,
        name: String,
        source: Box<kube::Error>,
    },
    #[error(
        "the secret {namespace}/{name} has no {KEY}; pullSecrets are of type kubernetes.io/dockerconfigjson"
    )]
    Kind { namespace: String, name: String },
    #[error("the secret {namespace}/{name} cannot be understood: {source}")]
    Bad {
        namespace: String,
        name: String,
        source: BadDockerConfig,
    },
}

#[derive(Clone)]
pub(crate) struct PullSecrets {
    client: Client,
}

impl PullSecrets {
    pub(crate) fn new(client: Client) -> Self {
        Self { client }
    }

    /// Returns the logins for a repository, in the order of the secrets. One bad secret does not
    /// hide the others.
    pub(crate) async fn logins(
        &self,
        secrets: &Secrets,
        repository: &Repository,
    ) -> Result<Vec<PullLogin>, SecretsError> {
        let mut logins: Vec<PullLogin> = Vec::new();
        let mut bad = None;
        for name in &secrets.names {
            match self.read(&secrets.namespace, name).await {
                Ok(config) => logins.extend(config.login(repository).cloned()),
                Err(error) => bad = bad.or(Some(error)),
            }
        }
        match bad {
            Some(error) if logins.is_empty() => Err(error),
            _ => Ok(logins),
        }
    }

    async fn read(&self, namespace: &str, name: &str) -> Result<DockerConfig, SecretsError> {
        let named = || (namespace.to_owned(), name.to_owned());
        let api: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        let (namespace, name) = named();
        let secret = match api.get_opt(&name).await {
            Ok(Some(secret)) => secret,
            Ok(None) => return Err(SecretsError::Missing { namespace, name }),
            Err(source) => {
                let source = Box::new(source);
                return Err(SecretsError::Read {
                    namespace,
                    name,
                    source,
                });
            }
        };
        let text = secret.data.as_ref().and_then(|data| data.get(KEY));
        let Some(text) = text else {
            return Err(SecretsError::Kind { namespace, name });
        };
        DockerConfig::parse(&text.0).map_err(|source| SecretsError::Bad {
            namespace,
            name,
            source,
        })
    }
}
