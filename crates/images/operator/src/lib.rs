//! The operator of images on nodes: resolves tags at registries, and reports in each `ImageSet`
//! which node has which image.
//!
//! ```text
//! ImageSets, Nodes, NodeImages ──▶ world ──▶ operate ──▶ writes: status, finalizers, labels
//!                                             │  ▲
//!                                       topics▼  │answers
//!                                             monitor ──▶ registries
//! ```
//!
//! It runs in the cluster and is the only program of the image system that may read pull secrets.
//! It pulls no image: agents do.

mod agents;
mod deletion;
mod desired;
mod docker_config;
mod lease;
mod monitor;
mod news;
mod operate;
mod overview;
mod published;
mod pull_secrets;
mod pulls;
mod status;
mod world;
mod writes;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use airside_image_certs::{CertsError, CertsOptions, Lifetimes, OwnCerts};
use kube::Client;
use tokio::{net::TcpListener, sync::watch};
use tokio_util::sync::CancellationToken;

use self::{
    lease::Leadership,
    operate::Operator,
    pull_secrets::PullSecrets,
    pulls::{Permits, Reviewer, Server},
};
pub use self::{
    lease::{Lost, Terms},
    monitor::{Rate, RegistryRules},
    overview::{Overview, Style, follow, table},
};

/// Name of the operator's Deployment, Service and account, and its name as a field manager.
pub const OPERATOR: &str = "airside-images-operator";
/// Lease of the one replica that works.
pub const LEASE: &str = OPERATOR;
/// Secret with the certificates of the operator's own Service.
pub const CERTS_SECRET: &str = "airside-images-operator-certs";
/// ConfigMap with the authority by which agents trust the operator.
pub const CA_CONFIG_MAP: &str = "airside-images-ca";
/// Port of the operator's Service.
pub const PORT: u16 = 8443;

/// Returns the host name of the operator's Service.
pub fn service_host(namespace: &str) -> String {
    format!("{OPERATOR}.{namespace}.svc")
}

/// Choices of an administrator about one replica.
#[derive(Clone, Debug)]
pub struct Options {
    /// Namespace of the operator itself.
    pub namespace: String,
    /// Identity of this replica in the Lease.
    pub identity: String,
    /// Address at which agents ask for pulls.
    pub listen: SocketAddr,
    /// Number of pulls of the whole cluster at once.
    pub pulls_at_once: usize,
    pub registries: RegistryRules,
    /// Rate of requests to one registry.
    pub rate: Rate,
    /// Silence of an agent after which its node's labels are removed.
    pub agent_patience: Duration,
    /// Longest wait of a deleted set for nodes.
    pub deletion_deadline: Duration,
    pub lease: Terms,
}

#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    #[error("there is no cluster: neither a kubeconfig nor a service account")]
    Config(#[from] kube::config::InferConfigError),
    #[error("a request to the API server failed")]
    Client(#[from] Box<kube::Error>),
    #[error(transparent)]
    Lost(#[from] Lost),
    #[error(transparent)]
    Certificates(#[from] CertsError),
    #[error("cannot listen on {address}; choose another address with --listen")]
    Listen {
        address: SocketAddr,
        source: std::io::Error,
    },
}

/// The pod's own account, or what `KUBECONFIG` names.
pub async fn client() -> Result<Client, OperatorError> {
    let config = kube::Config::infer().await?;
    Ok(Client::try_from(config).map_err(Box::new)?)
}

/// Works while this replica holds the Lease, until the shutdown. An error means that the Lease was
/// lost: all work has stopped, and the process should be started anew.
pub async fn run(
    client: Client,
    options: Options,
    shutdown: CancellationToken,
) -> Result<(), OperatorError> {
    let server = serve(&client, &options, &shutdown).await?;
    let leadership = Leadership::new(
        client.clone(),
        &options.namespace,
        LEASE,
        options.identity.clone(),
        options.lease,
    );
    if !leadership.acquire(&shutdown).await {
        return Ok(());
    }
    let work = async {
        let operator = Operator::new(&client, options).await;
        server.decide_by(operator.world());
        operator.run(shutdown.clone()).await;
        // The lease is released once nothing is written any more.
        std::future::pending::<()>().await;
    };
    tokio::select! {
        kept = leadership.keep(&shutdown) => Ok(kept?),
        () = work => Ok(()),
    }
}

/// Begins to answer agents; until this replica holds the Lease they are asked to come back.
async fn serve(
    client: &Client,
    options: &Options,
    shutdown: &CancellationToken,
) -> Result<Arc<Server>, OperatorError> {
    let wanted = CertsOptions {
        namespace: options.namespace.clone(),
        secret: CERTS_SECRET.to_owned(),
        names: vec![service_host(&options.namespace)],
        lifetimes: Lifetimes::default(),
    };
    let certificates = OwnCerts::open(client.clone(), wanted).await?;
    let tls = certificates.server_config()?;
    publish(client, options, certificates.bundle(), shutdown);
    let (certificates, until) = (Arc::new(certificates), shutdown.clone());
    airside_tasks::supervise("certificates", shutdown, move || {
        let (certificates, until) = (certificates.clone(), until.clone());
        async move { certificates.run(until).await }
    });
    let address = options.listen;
    let listener = TcpListener::bind(address).await;
    let listener = listener.map_err(|source| OperatorError::Listen { address, source })?;
    let server = Arc::new(Server::new(
        Reviewer::new(client.clone(), &options.namespace),
        PullSecrets::new(client.clone()),
        Permits::new(options.pulls_at_once),
    ));
    let (serving, listener, until) = (server.clone(), Arc::new(listener), shutdown.clone());
    airside_tasks::supervise("permits to pull", shutdown, move || {
        let serving = serving.clone();
        serving.serve(listener.clone(), tls.clone(), until.clone())
    });
    Ok(server)
}

/// Publishes the authority that agents trust, until the shutdown.
fn publish(
    client: &Client,
    options: &Options,
    bundle: watch::Receiver<String>,
    shutdown: &CancellationToken,
) {
    let (client, namespace) = (client.clone(), options.namespace.clone());
    let until = shutdown.clone();
    airside_tasks::supervise("published certificates", shutdown, move || {
        let publishing = published::keep(client.clone(), namespace.clone(), bundle.clone());
        let until = until.clone();
        async move { until.run_until_cancelled(publishing).await.unwrap_or(()) }
    });
}
