//! The whole agent by one list of options: what both programs that are one run.

use std::{iter, net::SocketAddr, path::PathBuf, time::Duration};

use airside_mirror::node::{MirrorError, NodeMirror, clean_mirror};
use clap::Args;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use tokio::{net::TcpListener, sync::watch};
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::{
    Authorities, AuthoritiesError, ImageOptions, Missing, NodeAgentError, Upstream,
    mirror::MirrorOptions,
};

/// Pause between two looks at whether containerd asks us.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Proxy of the server's registry")]
pub struct NodeOptions {
    /// URL of the server's registry (its --registry-listen), as nodes reach it
    #[arg(long, value_name = "URL", required_unless_present_any = ["images", "mirror_registry", "mirror_clean"])]
    registry: Option<Upstream>,

    /// File with the CA certificates (PEM) to trust for the registry, and no others [default: those
    /// of this machine]
    #[arg(long, value_name = "FILE", requires = "registry")]
    registry_ca: Option<PathBuf>,

    /// Address on which container runtimes reach the server's registry
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:5000", value_parser = airside_serve::listen_address)]
    listen: SocketAddr,

    #[command(flatten)]
    images: ImageOptions,

    #[command(flatten)]
    mirror: MirrorOptions,
}

#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    #[error(transparent)]
    Options(#[from] Missing),
    #[error("images cannot be kept on this node: {0}")]
    Images(#[from] NodeAgentError),
    #[error(transparent)]
    Mirror(#[from] MirrorError),
    #[error(transparent)]
    Authorities(#[from] AuthoritiesError),
    #[error("cannot listen on {0}, choose another address with --listen: {1}")]
    Listen(SocketAddr, std::io::Error),
    #[error("cannot read the CA certificates of this machine: {0}")]
    Trust(std::io::Error),
}

impl NodeOptions {
    /// Runs until the shutdown, or until what was to be cleaned is clean.
    pub async fn run(&self, shutdown: CancellationToken) -> Result<(), NodeError> {
        let (found, conditions) = watch::channel(None);
        if self.mirror(found, &shutdown).await? {
            return Ok(());
        }
        tokio::try_join!(
            self.keep(conditions, shutdown.clone()),
            self.pass_on(shutdown.clone())
        )?;
        Ok(())
    }

    /// Runs the mirror's part, and returns true if there is nothing else to do.
    async fn mirror(
        &self,
        found: watch::Sender<Option<Condition>>,
        shutdown: &CancellationToken,
    ) -> Result<bool, NodeError> {
        let Some(settings) = self.mirror.settings(&self.images.runtime_socket) else {
            return Ok(false);
        };
        if self.mirror.mirror_clean || self.images.clean {
            let count = clean_mirror(&settings)?;
            info!(files = count, "mirror configuration of containerd removed");
            return Ok(!self.images.images);
        }
        let mirror = NodeMirror::start(&settings, shutdown).await?;
        airside_tasks::spawn("look at the mirror", async move {
            // Probed again until it succeeds: a runtime that is busy, or has only just got its
            // settings, may ask later.
            for pause in pauses() {
                let Some(used) = mirror.is_used().await else {
                    return;
                };
                let is_used = used.status == "True";
                // An equal report is not repeated.
                found.send_if_modified(|known| {
                    let is_same = |known: &Condition| known.status == used.status;
                    if known.as_ref().is_some_and(is_same) {
                        return false;
                    }
                    info!(
                        used = used.status,
                        reason = used.reason,
                        result = used.message,
                        "use of the mirror tested"
                    );
                    *known = Some(used);
                    true
                });
                if is_used {
                    return;
                }
                tokio::time::sleep(pause).await;
            }
        });
        Ok(false)
    }

    async fn keep(
        &self,
        conditions: watch::Receiver<Option<Condition>>,
        shutdown: CancellationToken,
    ) -> Result<(), NodeError> {
        match self.images.settings()? {
            Some((settings, task)) => Ok(crate::keep(settings, task, conditions, shutdown).await?),
            None => Ok(()),
        }
    }

    async fn pass_on(&self, shutdown: CancellationToken) -> Result<(), NodeError> {
        let Some(registry) = &self.registry else {
            // An agent that keeps images ends with them.
            if !self.images.images {
                shutdown.cancelled().await;
            }
            return Ok(());
        };
        let authorities = self.registry_ca.as_deref().map(Authorities::read);
        let authorities = authorities.transpose()?;
        let failed = |error| NodeError::Listen(self.listen, error);
        let listener = TcpListener::bind(self.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        info!(%address, %registry, "registry proxy started");
        let served = crate::serve(listener, registry.clone(), authorities.as_ref(), shutdown);
        served.await.map_err(NodeError::Trust)
    }
}

/// Returns longer and longer pauses, without an end.
fn pauses() -> impl Iterator<Item = Duration> {
    iter::successors(Some(FIRST_PAUSE), |pause| {
        Some((*pause * 2).min(LONGEST_PAUSE))
    })
}
