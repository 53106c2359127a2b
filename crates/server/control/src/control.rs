//! The handle on all clusters of the control file, and the loop that follows the file.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use airside_clusters::ConnectError;
use airside_file_watch::FileWatch;
use airside_model::chain;
use airside_setting::PipelineSetter;
use airside_store::Store;
use airside_telemetry::metrics::Metrics;
use parking_lot::RwLock;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::{
    ControlCluster, ControlFileError, ControlTeam, ObjectBuilds, file, gone, link::TeamLink,
    team::TeamLoop,
};

/// A handle on the clusters whose objects are pipelines; clones share it. It judges pipelines
/// ([`airside_setting::Judge`]) from the moment that it is open.
#[derive(Clone)]
pub struct Control(Arc<Inner>);

struct Inner {
    file: PathBuf,
    store: Store,
    metrics: Metrics,
    links: RwLock<BTreeMap<String, TeamEntry>>,
}

/// A team's link, and the entry that it was made of.
#[derive(Clone)]
struct TeamEntry {
    cluster: ControlCluster,
    team: ControlTeam,
    kubeconfig: Option<Vec<u8>>,
    link: Arc<TeamLink>,
}

/// The parts of the server that objects act on.
#[derive(Clone)]
pub struct ControlParts {
    pub setter: PipelineSetter,
    pub builds: Arc<dyn ObjectBuilds>,
    /// URL at which people reach the server.
    pub external_url: String,
    /// Time for which an object is missing before its deletion policy is followed.
    pub deletion_grace: Duration,
}

/// A control file that cannot be acted on.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error(transparent)]
    File(#[from] ControlFileError),
    #[error("cluster {cluster} of the control file cannot be connected to")]
    Connect {
        cluster: String,
        source: ConnectError,
    },
}

impl Control {
    /// Reads the control file and makes the clients of its clusters. Makes no request that could
    /// block the start.
    pub async fn open(file: &Path, store: &Store, metrics: &Metrics) -> Result<Self, ControlError> {
        let control = Self(Arc::new(Inner {
            file: file.to_owned(),
            store: store.clone(),
            metrics: metrics.clone(),
            links: RwLock::default(),
        }));
        let links = control.read().await?;
        *control.0.links.write() = links;
        Ok(control)
    }

    pub(crate) fn link(&self, team: &str) -> Option<Arc<TeamLink>> {
        self.0
            .links
            .read()
            .get(team)
            .map(|entry| entry.link.clone())
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub(crate) fn store(&self) -> &Store {
        &self.0.store
    }

    /// Reads the file; teams whose entry is as it was keep their link.
    async fn read(&self) -> Result<BTreeMap<String, TeamEntry>, ControlError> {
        let before = self.0.links.read().clone();
        let mut links = BTreeMap::new();
        for mut cluster in file::load(&self.0.file)? {
            let teams = std::mem::take(&mut cluster.teams);
            let kubeconfig = cluster.access.kubeconfig.as_ref();
            let kubeconfig = kubeconfig.and_then(|file| std::fs::read(file).ok());
            let client = cluster.access.client(cluster.rate).await;
            let client = client.map_err(|source| ControlError::Connect {
                cluster: cluster.name.clone(),
                source,
            })?;
            for team in teams {
                let same = before.get(&team.team).filter(|entry| {
                    entry.cluster == cluster && entry.team == team && entry.kubeconfig == kubeconfig
                });
                let entry = same.cloned().unwrap_or_else(|| TeamEntry {
                    link: Arc::new(TeamLink::start(&cluster.name, team.clone(), client.clone())),
                    cluster: cluster.clone(),
                    team: team.clone(),
                    kubeconfig: kubeconfig.clone(),
                });
                links.insert(team.team, entry);
            }
        }
        Ok(links)
    }

    /// Acts on objects, and on changes of the file, until the shutdown.
    pub async fn run(&self, parts: ControlParts, shutdown: CancellationToken) {
        let mut running: BTreeMap<String, RunningTeam> = BTreeMap::new();
        let mut watch = FileWatch::new(&self.0.file)
            .inspect_err(warn_unwatched)
            .ok();
        gone::release_strangers(self).await;
        loop {
            self.start_teams(&parts, &mut running);
            let changed = async {
                match &watch {
                    Some(watch) => watch.changed().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = shutdown.cancelled() => break,
                changed = changed => match changed {
                    Ok(()) => self.reload(&parts, &mut running).await,
                    Err(error) => {
                        warn_unwatched(&error);
                        watch = None;
                    }
                },
            }
        }
    }

    /// Starts the loop of each team that is new or has another link, and ends the loops of others.
    fn start_teams(&self, parts: &ControlParts, running: &mut BTreeMap<String, RunningTeam>) {
        let links = self.0.links.read().clone();
        running.retain(|team, one| {
            links
                .get(team)
                .is_some_and(|entry| Arc::ptr_eq(&entry.link, &one.link))
        });
        for (team, entry) in links {
            running.entry(team).or_insert_with(|| {
                let (link, parts, control) = (entry.link.clone(), parts.clone(), self.clone());
                let task = airside_tasks::restart("control of a team", move || {
                    TeamLoop::new(&control, &parts, link.clone()).run()
                });
                RunningTeam {
                    link: entry.link,
                    task,
                }
            });
        }
    }

    async fn reload(&self, parts: &ControlParts, running: &mut BTreeMap<String, RunningTeam>) {
        let read = self.read().await;
        self.0.metrics.control_file_rejected(read.is_err());
        match read {
            Ok(links) => {
                let before = std::mem::replace(&mut *self.0.links.write(), links.clone());
                info!(teams = links.len(), "control file read again");
                // The loops of teams that left end before their objects are removed.
                self.start_teams(parts, running);
                for (team, entry) in before {
                    let place =
                        |one: &TeamEntry| (one.cluster.name.clone(), one.team.namespace.clone());
                    if links.get(&team).map(place) != Some(place(&entry)) {
                        // A slow cluster holds up neither the shutdown nor the next change.
                        let (control, link) = (self.clone(), entry.link.clone());
                        airside_tasks::spawn("objects of a team that left", async move {
                            gone::leave(&control, &link).await;
                        });
                    }
                }
                gone::release_strangers(self).await;
            }
            Err(error) => {
                error!(error = %chain(&error), "control file refused; the one read before stays");
            }
        }
    }

    /// Returns the places of all teams, each as cluster and namespace.
    pub(crate) fn places(&self) -> Vec<(String, String)> {
        let links = self.0.links.read();
        let place = |entry: &TeamEntry| (entry.cluster.name.clone(), entry.team.namespace.clone());
        links.values().map(place).collect()
    }
}

/// A team's loop, which ends when this is dropped.
struct RunningTeam {
    link: Arc<TeamLink>,
    task: JoinHandle<()>,
}

impl Drop for RunningTeam {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn warn_unwatched(error: &std::io::Error) {
    warn!(error = %chain(error), "control file not watched; restart the server after a change");
}
