//! From a target to a client of its cluster. No request is made: a cluster that is away when web
//! starts is simply away for a while.

use std::path::PathBuf;

use airside_model::{InstallationId, WorkerName};
use kube::{
    Api, Client, Config,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};

use super::{KubeRuntime, resize::Shrunk};
use crate::{keys::Keys, labels, pull_secrets::PullSecrets, targets::Target, watch::Watched};

#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("target {worker}: the kubeconfig {} cannot be used", file.display())]
    Kubeconfig {
        worker: WorkerName,
        file: PathBuf,
        source: Box<KubeconfigError>,
    },
    #[error("target {worker}: no context {context:?} in the kubeconfig that kubectl would use")]
    Context {
        worker: WorkerName,
        context: String,
        source: Box<KubeconfigError>,
    },
    #[error(
        "target {worker}: not running in a pod with a service account; set kubeconfig or context"
    )]
    InCluster {
        worker: WorkerName,
        source: Box<kube::config::InClusterError>,
    },
    #[error("target {worker}: no client can be made for its cluster")]
    Client {
        worker: WorkerName,
        source: Box<kube::Error>,
    },
    #[error(
        "installation id {0:?} cannot be a label: use up to 63 letters, digits, '-', '_' and '.'"
    )]
    Installation(InstallationId),
}

impl KubeRuntime {
    /// Makes the client and starts the watch; needs a tokio runtime around it.
    pub async fn connect(
        target: Target,
        installation: InstallationId,
    ) -> Result<Self, ConnectError> {
        if !labels::is_value(installation.as_str()) {
            return Err(ConnectError::Installation(installation));
        }
        let config = config(&target).await?;
        let client = Client::try_from(config).map_err(|source| ConnectError::Client {
            worker: target.name.clone(),
            source: Box::new(source),
        })?;
        Ok(Self::with_client(target, installation, client))
    }

    pub(super) fn with_client(
        target: Target,
        installation: InstallationId,
        client: Client,
    ) -> Self {
        let pods = Api::namespaced(client.clone(), &target.namespace);
        let watched = Watched::new();
        let selector = labels::selector(&installation, &target.name);
        let watching = tokio::spawn(watched.clone().follow(pods.clone(), selector)).abort_handle();
        let secrets = Api::namespaced(client.clone(), &target.namespace);
        let pull_secrets = PullSecrets::new(secrets, installation.clone(), target.name.clone());
        Self {
            target,
            installation,
            pods,
            keys: Keys::new(client),
            watched,
            watching,
            pull_secrets,
            shrunk: Shrunk::default(),
        }
    }
}

async fn config(target: &Target) -> Result<Config, ConnectError> {
    let worker = || target.name.clone();
    let options = KubeConfigOptions {
        context: target.context.clone(),
        ..Default::default()
    };
    match (&target.kubeconfig, &target.context) {
        (Some(file), _) => read(file, &options)
            .await
            .map_err(|source| ConnectError::Kubeconfig {
                worker: worker(),
                file: file.clone(),
                source: Box::new(source),
            }),
        (None, Some(context)) => {
            Config::from_kubeconfig(&options)
                .await
                .map_err(|source| ConnectError::Context {
                    worker: worker(),
                    context: context.clone(),
                    source: Box::new(source),
                })
        }
        (None, None) => Config::incluster().map_err(|source| ConnectError::InCluster {
            worker: worker(),
            source: Box::new(source),
        }),
    }
}

async fn read(file: &PathBuf, options: &KubeConfigOptions) -> Result<Config, KubeconfigError> {
    Config::from_custom_kubeconfig(Kubeconfig::read_from(file)?, options).await
}
