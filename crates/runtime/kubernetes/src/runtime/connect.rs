//! Makes a client of a target's cluster. No request is made: a cluster that is away when web starts
//! is simply away for a while.

use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

use airside_model::{InstallationId, WorkerName};
use kube::{
    Api, Client, Config,
    client::ClientBuilder,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};

use super::{KubeRuntime, mark::Marked, resize::Shrunk};
use crate::{
    attend, keys::Keys, labels, network_policy::NetworkPolicies, next_images::NextImages,
    pull_secrets::PullSecrets, rate::RateLayer, targets::Target, watch::Watched,
};

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
    #[error("target {worker}: the service account's file {} cannot be read", file.display())]
    Account {
        worker: WorkerName,
        file: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "target {worker}: the address of the API server is not known: set api_server, or run in a pod (which has \
         KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT)"
    )]
    Nowhere { worker: WorkerName },
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
        let client = ClientBuilder::try_from(config).map_err(|source| ConnectError::Client {
            worker: target.name.clone(),
            source: Box::new(source),
        })?;
        let client = client.with_layer(&RateLayer(target.rate)).build();
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
        let (followed, from) = (watched.clone(), pods.clone());
        let watching = airside_tasks::restart("watch of pods", move || {
            followed.clone().follow(from.clone(), selector.clone())
        });
        let watching = watching.abort_handle();
        let secrets = Api::namespaced(client.clone(), &target.namespace);
        let pull_secrets = PullSecrets::new(secrets, installation.clone(), target.name.clone());
        let network_policies = NetworkPolicies::new(&client, &target, &installation);
        let next_images = NextImages::start(&client, &target, &installation);
        let (condition, doubts, attending) = attend::start(&target, &installation, &client);
        Self {
            condition,
            doubts,
            attending,
            target,
            publisher: OnceLock::new(),
            installation,
            pods,
            keys: Keys::new(client),
            watched,
            watching,
            pull_secrets,
            network_policies,
            next_images,
            shrunk: Shrunk::default(),
            marked: Marked::default(),
        }
    }
}

async fn config(target: &Target) -> Result<Config, ConnectError> {
    let worker = || target.name.clone();
    let options = KubeConfigOptions {
        context: target.context.clone(),
        ..Default::default()
    };
    if target.service_account.is_some() || target.api_server.is_some() {
        return account(target).await;
    }
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

/// Folder in which pods find the files of their service account.
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Returns the configuration of a service account whose folder may be anywhere. Its files are read
/// again whenever they are renewed.
async fn account(target: &Target) -> Result<Config, ConnectError> {
    let folder = target.service_account.as_deref();
    let folder = folder.unwrap_or_else(|| Path::new(ACCOUNT));
    let [token, certificates] = ["token", "ca.crt"].map(|name| folder.join(name));
    for file in [&token, &certificates] {
        std::fs::read(file).map_err(|source| ConnectError::Account {
            worker: target.name.clone(),
            file: file.clone(),
            source,
        })?;
    }
    let server = api_server(target)?;
    let kubeconfig = serde_json::from_value(serde_json::json!({
        "clusters": [{"name": "c", "cluster": {"server": server, "certificate-authority": certificates}}],
        "users": [{"name": "c", "user": {"tokenFile": token}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        "current-context": "c",
    }));
    let unusable = |source: KubeconfigError| ConnectError::Kubeconfig {
        worker: target.name.clone(),
        file: folder.to_owned(),
        source: Box::new(source),
    };
    let kubeconfig: Kubeconfig = kubeconfig.expect("the shape of a kubeconfig is known");
    let read = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let mut config = read.map_err(unusable)?;
    config.root_cert_file = Some(certificates);
    Ok(config)
}

/// Returns the API server that the target names, or else the one of the pod's environment.
fn api_server(target: &Target) -> Result<String, ConnectError> {
    if let Some(server) = &target.api_server {
        return Ok(server.clone());
    }
    let variable = |name| std::env::var(name).ok();
    let (host, port) = (
        variable("KUBERNETES_SERVICE_HOST"),
        variable("KUBERNETES_SERVICE_PORT"),
    );
    match (host, port) {
        (Some(host), Some(port)) if host.contains(':') => Ok(format!("https://[{host}]:{port}")),
        (Some(host), Some(port)) => Ok(format!("https://{host}:{port}")),
        _ => Err(ConnectError::Nowhere {
            worker: target.name.clone(),
        }),
    }
}
