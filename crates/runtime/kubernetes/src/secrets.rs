//! Reads Secrets, for installations whose credentials are kept in a cluster. It has nothing to do
//! with running steps: it is here because no other crate of the server speaks to API servers.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client, Config,
    config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError},
};

const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    #[error("the kubeconfig {} cannot be used", file.display())]
    Kubeconfig {
        file: PathBuf,
        source: Box<KubeconfigError>,
    },
    #[error("this server does not run in a pod with a service account")]
    InCluster(#[source] Box<InClusterError>),
    #[error("no client can be made for the cluster")]
    Client(#[source] Box<kube::Error>),
    #[error("the API server refuses to read the secret {namespace}/{name}: {reason}")]
    Refused {
        namespace: String,
        name: String,
        reason: String,
    },
    #[error("the API server could not read the secret {namespace}/{name}: {reason}")]
    Away {
        namespace: String,
        name: String,
        reason: String,
    },
}

impl SecretsError {
    /// Returns true if the request may succeed a little later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Away { .. })
    }
}

/// A handle on the secrets of a cluster; clones share its connections.
#[derive(Clone)]
pub struct SecretReader {
    client: Client,
}

impl SecretReader {
    /// Connects by a kubeconfig, or as the service account of the pod that this server runs in.
    /// Sends no request yet.
    pub async fn connect(kubeconfig: Option<&Path>) -> Result<Self, SecretsError> {
        let config = match kubeconfig {
            Some(file) => read(file)
                .await
                .map_err(|source| SecretsError::Kubeconfig {
                    file: file.to_owned(),
                    source: Box::new(source),
                })?,
            None => {
                Config::incluster().map_err(|source| SecretsError::InCluster(Box::new(source)))?
            }
        };
        let client = Client::try_from(config);
        let client = client.map_err(|source| SecretsError::Client(Box::new(source)))?;
        Ok(Self { client })
    }

    /// Returns the keys and values of a secret; none if there is no such secret. Bytes that are no
    /// text are converted as well as they can be.
    pub async fn read(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<BTreeMap<String, String>>, SecretsError> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        let away = |reason: String| SecretsError::Away {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            reason,
        };
        let found = tokio::time::timeout(REQUEST_TIMEOUT, secrets.get_opt(name)).await;
        let found = found.map_err(|_| away("it did not answer in time".to_owned()))?;
        let found = found.map_err(|error| match error {
            kube::Error::Api(status) if (400..500).contains(&status.code) && status.code != 429 => {
                SecretsError::Refused {
                    namespace: namespace.to_owned(),
                    name: name.to_owned(),
                    reason: status.message.clone(),
                }
            }
            other => away(other.to_string()),
        })?;
        Ok(found.map(|secret| {
            let data = secret.data.unwrap_or_default().into_iter();
            data.map(|(key, value)| (key, String::from_utf8_lossy(&value.0).into_owned()))
                .collect()
        }))
    }
}

async fn read(file: &Path) -> Result<Config, KubeconfigError> {
    let options = KubeConfigOptions::default();
    Config::from_custom_kubeconfig(Kubeconfig::read_from(file)?, &options).await
}
