//! The mirror's half on each node: containerd asks the node's own port, which asks other nodes, and
//! then the mirror.
//!
//! ```text
//! containerd ──▶ localhost:PORT ──▶ local ──▶ access (of the caller) ──▶ mirror or registry
//!      ▲                              │
//!      │ hosts.toml                   └──▶ sharing ──▶ agents of other nodes ──▶ their containerd
//! ```
//!
//! **Invariants:** it keeps nothing itself; it serves no caller what its own login would not get
//! from the registry; it changes no file of containerd's that is not its own; and without it pulls
//! go on as if it had never been there.

mod hosts;
mod local;
mod outward;
mod peers;
mod probe;
mod proof;
mod sharing;
mod waves;

use std::{
    io,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    sync::Arc,
};

use airside_containerd::{Containerd, ContainerdError};
use airside_serve::{Authorities, AuthoritiesError, ServeOptions};
use http::Request;
use hyper::body::Incoming;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{Client, MirrorAnswer, Registries, Registry, Upstream, UpstreamAccess};

use self::{
    hosts::{Hosts, WrittenHosts},
    local::Local,
    peers::Peers,
    probe::Probe,
    proof::Proof,
    sharing::Sharing,
};

pub use self::{hosts::Tags, probe::MIRROR_USED, proof::PEERS_AUDIENCE};

/// Settings of the mirror's half.
#[derive(Clone, Debug)]
pub struct MirrorSettings {
    pub registries: Vec<Registry>,
    /// Such as `http://10.0.0.1:5000`; registries are asked directly if there is none.
    pub mirror: Option<String>,
    /// Address inside the pod; the node's own port, where containerd asks, has the same number.
    pub listen: SocketAddr,
    pub tags: Tags,
    pub told: PortClients,
    /// containerd's folder of registries.
    pub certs: PathBuf,
    /// Certificates of the user's own authority, by which registries are trusted here and by
    /// containerd.
    pub authorities: Option<PathBuf>,
    pub runtime_socket: PathBuf,
    /// Blobs come from other nodes too.
    pub share: Option<ShareSettings>,
}

/// Clients of the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortClients {
    /// containerd, by its files.
    Containerd,
    /// Pods, whose images admission renames to the port.
    Pods,
}

#[derive(Clone, Debug)]
pub struct ShareSettings {
    /// A headless service of all agents.
    pub service: String,
    pub own: IpAddr,
    pub port: u16,
    /// The agent's proof for others, with the audience [`PEERS_AUDIENCE`].
    pub token: PathBuf,
    /// User name of the agents' account: `system:serviceaccount:NAMESPACE:NAME`.
    pub account: String,
}

#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    #[error(transparent)]
    Containerd(#[from] ContainerdError),
    #[error(transparent)]
    Authorities(#[from] AuthoritiesError),
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, io::Error),
    #[error("cannot read the CA certificates of this machine: {0}")]
    Trust(io::Error),
    #[error("cannot change {0}, containerd's folder of registries: {1}")]
    Hosts(PathBuf, io::Error),
    #[error("cannot find the API server, which says who other agents are: {0}")]
    Cluster(#[source] kube::Error),
}

/// The mirror's half of a running agent. Cheap to clone.
#[derive(Clone)]
pub struct NodeMirror {
    hosts: Hosts,
    told: PortClients,
    /// Registries for which containerd has a file of ours, and those for which it has another.
    written: WrittenHosts,
    probe: Arc<Probe>,
    port: u16,
    runtime: Containerd,
}

impl NodeMirror {
    /// Listens on the node, then writes the port to containerd's folder of registries. Serves until
    /// the shutdown.
    pub async fn start(
        settings: &MirrorSettings,
        shutdown: &CancellationToken,
    ) -> Result<Self, MirrorError> {
        let own = settings.authorities.as_deref().map(Authorities::read);
        let own = own.transpose()?;
        let client = Client::new(own.as_ref()).map_err(MirrorError::Trust)?;
        let runtime = Containerd::at(&settings.runtime_socket)?;
        let sharing = match &settings.share {
            Some(share) => Some(
                share
                    .start(client.clone(), runtime.clone(), shutdown)
                    .await?,
            ),
            None => None,
        };
        let registries = Registries::new(settings.registries.iter().cloned());
        let upstream = match &settings.mirror {
            Some(mirror) => Upstream::through(client, mirror),
            None => Upstream::new(client, registries.clone()),
        };
        let probe = Arc::<Probe>::default();
        let local = Arc::new(Local {
            registries,
            access: UpstreamAccess::new(upstream),
            sharing,
            probe: probe.clone(),
        });
        let (listener, port) = listen(settings.listen).await?;
        serve(listener, shutdown.clone(), move |request| {
            let local = local.clone();
            async move { local.answer(request).await }
        });
        let (hosts, written) = settings.tell(port, own.as_ref())?;
        Ok(Self {
            hosts,
            told: settings.told,
            written,
            probe,
            port,
            runtime,
        })
    }

    /// Probes if containerd asks the port: the condition [`MIRROR_USED`] for `NodeImages`. None if
    /// containerd has no file of ours.
    pub async fn is_used(&self) -> Option<Condition> {
        match self.told {
            PortClients::Containerd => {
                let run = self.probe.run(&self.hosts, self.port, &self.runtime).await;
                Some(probe::condition(&run, &self.written))
            }
            PortClients::Pods => None,
        }
    }
}

impl MirrorSettings {
    /// Makes containerd's files what they should be.
    fn tell(
        &self,
        port: u16,
        own: Option<&Authorities>,
    ) -> Result<(Hosts, WrittenHosts), MirrorError> {
        let hosts = Hosts::at(&self.certs);
        let registries = match self.told {
            PortClients::Containerd => self.registries.as_slice(),
            PortClients::Pods => &[],
        };
        let written = hosts.write(registries, port, self.tags, own);
        let written = written.map_err(|error| MirrorError::Hosts(self.certs.clone(), error))?;
        if !written.others.is_empty() {
            let registries = written.others.join(" ");
            tracing::warn!(
                registries,
                "registries configured by others left alone: they have no mirror"
            );
        }
        match self.told {
            PortClients::Containerd => {
                let registries = written.written.join(" ");
                tracing::info!(
                    registries,
                    port,
                    "mirror of registries configured for containerd"
                );
            }
            PortClients::Pods => tracing::info!(
                port,
                "mirror started without containerd; only pods that name its port use it"
            ),
        }
        Ok((hosts, written))
    }
}

/// Takes all files of ours away; how many there were.
pub fn clean_mirror(settings: &MirrorSettings) -> Result<usize, MirrorError> {
    let cleaned = Hosts::at(&settings.certs).clean();
    cleaned.map_err(|error| MirrorError::Hosts(settings.certs.clone(), error))
}

impl ShareSettings {
    async fn start(
        &self,
        client: Client,
        runtime: Containerd,
        shutdown: &CancellationToken,
    ) -> Result<Arc<Sharing>, MirrorError> {
        let cluster = kube::Client::try_default().await;
        let cluster = cluster.map_err(MirrorError::Cluster)?;
        let peers = Peers::new(SocketAddr::new(self.own, self.port));
        let proof = Proof::new(cluster, &self.token, &self.account);
        let sharing = Arc::new(Sharing::new(peers.clone(), proof, runtime, client));
        let everywhere = SocketAddr::new([0, 0, 0, 0].into(), self.port);
        let (listener, _) = listen(everywhere).await?;
        let shared = sharing.clone();
        serve(listener, shutdown.clone(), move |request| {
            let sharing = shared.clone();
            async move { outward::answer(&sharing, request).await }
        });
        let (service, shutdown) = (self.service.clone(), shutdown.clone());
        airside_tasks::supervise("peers", &shutdown.clone(), move || {
            let (peers, service, shutdown) = (peers.clone(), service.clone(), shutdown.clone());
            async move { peers.follow(&service, &shutdown).await }
        });
        Ok(sharing)
    }
}

async fn listen(address: SocketAddr) -> Result<(TcpListener, u16), MirrorError> {
    let failed = |error| MirrorError::Listen(address, error);
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    Ok((listener, port))
}

fn serve<F>(
    listener: TcpListener,
    shutdown: CancellationToken,
    answer: impl Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
) where
    F: Future<Output = MirrorAnswer> + Send + 'static,
{
    let (listener, until) = (Arc::new(listener), shutdown.clone());
    airside_tasks::supervise("mirror port", &shutdown, move || {
        let options = ServeOptions::new("mirror connection");
        airside_serve::serve(listener.clone(), options, answer.clone(), until.clone())
    });
}
