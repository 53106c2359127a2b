//! Makes a client of a target's cluster. No request is made: a cluster that is away when web starts
//! is simply away for a while.

use std::sync::OnceLock;

use airside_model::{InstallationId, WorkerName};
use kube::{Api, Client};

use super::{KubeRuntime, mark::Marked, resize::Shrunk};
use crate::{
    attend, keys::Keys, labels, network_policy::NetworkPolicies, next_images::NextImages,
    pull_secrets::PullSecrets, targets::Target, watch::Watched,
};

#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("target {worker}: no connection to its cluster can be made")]
    Cluster {
        worker: WorkerName,
        source: airside_clusters::ConnectError,
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
        let connected = target.access().client(target.rate).await;
        let client = connected.map_err(|source| ConnectError::Cluster {
            worker: target.name.clone(),
            source,
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
