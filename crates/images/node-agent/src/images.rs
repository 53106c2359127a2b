//! Images on this node, as the sets of the cluster want them.
//!
//! ```text
//! ImageSets, Node ──▶ watch ──▶ keeper: observe, plan, act, report ──▶ runtime (pulls, pins)
//!                                   └──▶ the node's labels, NodeImages
//! ```
//!
//! Desired images, observed images and the disk go into `airside_image_rules::plan`, which decides;
//! this module observes and acts. The agent reads no secret: logins come from the operator, for one
//! pull each.

mod clean;
mod cluster;
mod disk;
mod keeper;
mod marks;
mod memory;
mod operator;
mod pull;
mod report;
mod wanted;
mod watch;

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use airside_image_rules::plan::DiskRules;
use airside_model::chain;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Client;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use self::{cluster::Cluster, keeper::Keeper};
use airside_containerd::{Containerd, ContainerdError};
pub(crate) use operator::OPERATOR_TIMEOUT;
pub use operator::OperatorClient;

/// Time for which events of the runtime are gathered.
const CROWD: Duration = Duration::from_millis(100);

/// Choices of an administrator about the agent.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The name of this node.
    pub node: String,
    pub runtime_socket: PathBuf,
    /// A folder on the file system that images are on.
    pub image_root: PathBuf,
    pub pulls_at_once: usize,
    pub rules: DiskRules,
    pub heartbeat: Duration,
    pub operator: Option<OperatorClient>,
    /// Address of the probe, which is open once the node was observed.
    pub health: Option<SocketAddr>,
}

/// The condition MirrorUsed, once the mirror was probed; it is reported with the node's images.
type Mirror = tokio::sync::watch::Receiver<Option<Condition>>;

/// Task of the agent: to keep images, or to remove everything of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    Keep,
    Clean { keep_images: bool },
}

#[derive(Debug, thiserror::Error)]
pub enum NodeAgentError {
    #[error(transparent)]
    Containerd(#[from] ContainerdError),
    #[error("the API server: {0}")]
    Kube(#[from] kube::Error),
    #[error("cannot find the API server: {0}")]
    NoCluster(#[from] kube::config::InferConfigError),
    #[error("cannot listen on {0} (--health): {1}")]
    Health(SocketAddr, std::io::Error),
}

/// Runs until the shutdown; cleaning also ends by itself where there is no probe.
pub async fn keep(
    settings: Settings,
    task: Task,
    mirror: Mirror,
    shutdown: CancellationToken,
) -> Result<(), NodeAgentError> {
    let client = Client::try_from(kube::Config::infer().await?)?;
    let runtime = Containerd::at(&settings.runtime_socket)?;
    info!(
        runtime = runtime.version().await?,
        node = settings.node,
        "image agent started"
    );
    let cluster = Cluster::new(&client, &settings.node);
    match task {
        Task::Keep => look_after(settings, client, runtime, cluster, mirror, shutdown).await,
        Task::Clean { keep_images } => {
            clean::clean(&settings, &runtime, &cluster, keep_images).await?;
            let Some(health) = settings.health else {
                return Ok(());
            };
            airside_tasks::spawn("probes", answer_probes(listen(health).await?));
            shutdown.cancelled().await;
            Ok(())
        }
    }
}

async fn look_after(
    settings: Settings,
    client: Client,
    runtime: Containerd,
    cluster: Cluster,
    mirror: Mirror,
    shutdown: CancellationToken,
) -> Result<(), NodeAgentError> {
    let mut health = settings.health;
    let last = cluster.reported_status().await?;
    let (known, news) = tokio::sync::watch::channel(None);
    let _following = abort_on_drop(
        "watch of image sets",
        watch::follow(client, settings.node.clone(), known),
    );
    let (happened, mut happens) = tokio::sync::watch::channel(());
    let _listening = abort_on_drop("runtime events", events(runtime.clone(), happened));
    let mut keeper = Keeper::new(settings, runtime, cluster, news, mirror, &last);
    loop {
        happens.mark_unchanged();
        let wait = keeper.turn().await;
        if keeper.has_reported()
            && let Some(address) = health.take()
        {
            airside_tasks::spawn("probes", answer_probes(listen(address).await?));
        }
        tokio::select! {
            () = shutdown.cancelled() => return Ok(()),
            () = keeper.changed() => {}
            // Events come in crowds, and one look is enough for many.
            _ = happens.changed() => tokio::time::sleep(CROWD).await,
            () = tokio::time::sleep(wait) => {}
        }
    }
}

fn abort_on_drop(
    name: &'static str,
    task: impl Future<Output = ()> + Send + 'static,
) -> impl Sized {
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(airside_tasks::named(name, task));
    tasks
}

/// Reports that something of the runtime changed. The agent looks itself at what it was.
async fn events(runtime: Containerd, happened: tokio::sync::watch::Sender<()>) {
    loop {
        match runtime.events().await {
            Ok(mut events) => {
                // Something may have happened while no stream was open.
                happened.send_replace(());
                while events.next().await.is_ok() {
                    happened.send_replace(());
                }
            }
            Err(error) => {
                debug!(
                    error = %chain(&error),
                    "event stream of the container runtime ended"
                );
            }
        }
        happened.send_replace(());
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener, NodeAgentError> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|error| NodeAgentError::Health(address, error))
}

async fn answer_probes(listener: TcpListener) {
    loop {
        if let Err(error) = listener.accept().await {
            warn!(
                error = %chain(&error),
                "connection of a probe not accepted"
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}
