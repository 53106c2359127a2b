//! The Kubernetes targets of a running server, and their changes with the targets file.
//!
//! A target that is new registers. One that is taken out retires: its steps end, nothing new comes,
//! and once nothing of it is left it is forgotten. One that is put back registers again. One that
//! changes is replaced, and steps that run go on; if it is elsewhere now (another cluster or
//! namespace), it retires from there first. A file with a mistake changes nothing.

use std::{sync::Arc, time::Duration};

use airside_file_watch::FileWatch;
use airside_model::{InstallationId, WorkerName, chain};
use airside_orchestrator::{Orchestrator, WorkerEntry};
use airside_runtime_kubernetes::{KubeRuntime, Target};
use airside_store::{Store, WorkerChange, WorkerKind};
use airside_telemetry::metrics::Metrics;
use anyhow::{Context, Result, bail};
use tokio::signal::unix::Signal;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::artifact_images::ArtifactImages;
use crate::{proofs::WorkerProofs, pull_secrets::StoredNames, target_source::TargetSource};

/// Interval at which the end of retiring targets is checked.
const RETIRED_CHECK_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) struct Targets {
    source: TargetSource,
    installation: InstallationId,
    proofs: WorkerProofs,
    store: Store,
    images: Option<ArtifactImages>,
    known: Vec<ConnectedTarget>,
    /// Targets that were removed or moved, and still have steps.
    leaving: Vec<ConnectedTarget>,
    /// True if a moved target waits for its old place to be empty.
    is_awaiting: bool,
}

/// A target with its runtime.
#[derive(Clone)]
struct ConnectedTarget {
    target: Target,
    /// Content of the kubeconfig, which may be renewed under the same name.
    kubeconfig: Option<Vec<u8>>,
    runtime: Arc<KubeRuntime>,
}

impl ConnectedTarget {
    fn name(&self) -> &WorkerName {
        &self.target.name
    }

    fn entry(&self) -> WorkerEntry {
        WorkerEntry {
            runtime: self.runtime.clone(),
            team: self.target.team.clone(),
            tags: self.target.tags.clone(),
        }
    }
}

fn find<'a>(known: &'a [ConnectedTarget], name: &WorkerName) -> Option<&'a ConnectedTarget> {
    known.iter().find(|known| known.name() == name)
}

/// Warns of a target that serves a team which does not exist: no step goes there, which only a log
/// and administrators can see.
async fn check_team(store: &Store, target: &Target) -> Result<()> {
    let Some(team) = &target.team else {
        return Ok(());
    };
    if store.team(team).await?.is_none() {
        warn!(
            worker = %target.name, team,
            "team of the worker not found, so no step goes there: correct `team` in its target, or make the team"
        );
    }
    Ok(())
}

impl Targets {
    /// Connects all targets of the source. Makes no request that could block the start.
    pub(crate) async fn open(
        source: TargetSource,
        installation: &InstallationId,
        proofs: &WorkerProofs,
        store: &Store,
        images: Option<&ArtifactImages>,
    ) -> Result<Self> {
        let mut targets = Self {
            source,
            installation: installation.clone(),
            proofs: proofs.clone(),
            store: store.clone(),
            images: images.cloned(),
            known: Vec::new(),
            leaving: Vec::new(),
            is_awaiting: false,
        };
        for target in targets.source.read()? {
            let known = targets.connect(target).await?;
            let Target {
                name, team, tags, ..
            } = &known.target;
            let kind = WorkerKind::Kubernetes;
            let state = store
                .register_worker(name, team.as_deref(), tags, kind)
                .await?;
            info!(worker = %name, %state, "worker registered");
            check_team(store, &known.target).await?;
            targets.proofs.add(name.clone(), known.runtime.clone());
            targets.known.push(known);
        }
        Ok(targets)
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = WorkerEntry> {
        self.known
            .iter()
            .chain(&self.leaving)
            .map(ConnectedTarget::entry)
    }

    async fn connect(&self, target: Target) -> Result<ConnectedTarget> {
        let kubeconfig = kubeconfig(&target);
        let connected = KubeRuntime::connect(target.clone(), self.installation.clone()).await;
        let runtime = connected.with_context(|| format!("target `{}`", target.name))?;
        runtime.remember_pull_secrets(Arc::new(StoredNames(self.store.clone())));
        match &self.images {
            Some(images) => runtime.publish_images_with(Arc::new(images.clone())),
            None if target.registry.is_some() => bail!(
                "target `{}` names a registry, and this server serves none: start it with --registry-listen, or leave \
                 `registry` out",
                target.name
            ),
            None => {}
        }
        Ok(ConnectedTarget {
            target,
            kubeconfig,
            runtime: Arc::new(runtime),
        })
    }

    /// Reads and connects the source's targets; unchanged ones keep their runtime. A target that
    /// has moved is left out while its old place still has steps.
    async fn read(&mut self) -> Result<Vec<ConnectedTarget>> {
        let (mut next, mut is_awaiting) = (Vec::new(), false);
        for target in self.source.read()? {
            let before =
                find(&self.known, &target.name).or_else(|| find(&self.leaving, &target.name));
            match before {
                Some(before) if !before.target.is_same_place(&target) => is_awaiting = true,
                Some(before)
                    if before.target == target && before.kubeconfig == kubeconfig(&target) =>
                {
                    next.push(before.clone());
                }
                _ => next.push(self.connect(target).await?),
            }
        }
        self.is_awaiting = is_awaiting;
        Ok(next)
    }

    /// Reads the source whenever it changes or a signal asks for it, until the shutdown. `others`
    /// are the workers that are not targets.
    pub(crate) async fn run(
        &mut self,
        orchestrator: Orchestrator,
        others: Vec<WorkerEntry>,
        metrics: Metrics,
        hangup: &mut Signal,
        shutdown: CancellationToken,
    ) {
        let pool = WorkerPool {
            orchestrator,
            others,
            metrics,
        };
        let mut watch = self.source.file().and_then(|file| {
            let watch = FileWatch::new(file);
            watch.inspect_err(warn_unwatched).ok()
        });
        loop {
            let changed = async {
                match &watch {
                    Some(watch) => watch.changed().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = shutdown.cancelled() => return,
                Some(()) = hangup.recv() => self.reload(&pool).await,
                () = tokio::time::sleep(RETIRED_CHECK_INTERVAL), if !self.leaving.is_empty() => {
                    self.see_off(&pool).await;
                }
                changed = changed => match changed {
                    Ok(()) => self.reload(&pool).await,
                    Err(error) => {
                        warn_unwatched(&error);
                        watch = None;
                    }
                },
            }
        }
    }

    async fn reload(&mut self, pool: &WorkerPool) {
        let done = match self.read().await {
            Ok(next) => self.apply(next, pool).await,
            Err(error) => Err(error),
        };
        pool.metrics.targets_rejected(done.is_err());
        if let Err(error) = done {
            error!(error = %chain(error.as_ref()), "targets file refused; the targets read before stay");
        }
    }

    async fn apply(&mut self, next: Vec<ConnectedTarget>, pool: &WorkerPool) -> Result<()> {
        let (before, left) = (self.known.clone(), std::mem::take(&mut self.leaving));
        let gone = |old: &&ConnectedTarget| find(&next, old.name()).is_none();
        self.leaving = before.iter().chain(&left).filter(gone).cloned().collect();
        self.known = next;
        for known in &self.known {
            self.proofs.add(known.name().clone(), known.runtime.clone());
        }
        pool.set(self);
        for known in self
            .leaving
            .iter()
            .filter(|it| find(&left, it.name()).is_none())
        {
            info!(worker = %known.name(), "target removed; its worker retires");
            pool.change(known.name(), WorkerChange::Retire).await?;
        }
        for known in &self.known {
            let name = known.name();
            let same = |old: &ConnectedTarget| Arc::ptr_eq(&old.runtime, &known.runtime);
            let came_back = find(&left, name).is_some();
            if find(&before, name).is_some_and(same) {
                continue;
            }
            let (team, tags) = (known.target.team.as_deref(), &known.target.tags);
            let state = pool.orchestrator.configure_worker(name, team, tags).await?;
            info!(worker = %name, %state, "target read again");
            check_team(&self.store, &known.target).await?;
            if came_back {
                pool.change(name, WorkerChange::Register).await?;
            }
        }
        Ok(())
    }

    /// Forgets retiring targets that have no steps left.
    async fn see_off(&mut self, pool: &WorkerPool) {
        let (before, mut left) = (self.leaving.len(), Vec::new());
        for known in std::mem::take(&mut self.leaving) {
            match pool.is_gone(known.name()).await {
                Ok(true) => {
                    info!(worker = %known.name(), "worker removed: its target was removed and nothing of it is left");
                    self.proofs.remove(known.name());
                }
                Ok(false) => left.push(known),
                Err(error) => {
                    warn!(worker = %known.name(), error = %chain(error.as_ref()), "worker that leaves not removed; it is tried again");
                    left.push(known);
                }
            }
        }
        self.leaving = left;
        if self.leaving.len() == before {
            return;
        }
        pool.set(self);
        if self.is_awaiting {
            self.reload(pool).await;
        }
    }
}

fn warn_unwatched(error: &std::io::Error) {
    warn!(error = %chain(&error), "targets file not watched; SIGHUP makes the server read it again");
}

fn kubeconfig(target: &Target) -> Option<Vec<u8>> {
    std::fs::read(target.kubeconfig.as_ref()?).ok()
}

/// The other parts of the server that a change of targets reaches.
struct WorkerPool {
    orchestrator: Orchestrator,
    others: Vec<WorkerEntry>,
    metrics: Metrics,
}

impl WorkerPool {
    fn set(&self, targets: &Targets) {
        let others = self.others.iter().cloned();
        self.orchestrator
            .workers()
            .set(others.chain(targets.entries()).collect());
    }

    async fn change(&self, worker: &WorkerName, change: WorkerChange) -> Result<()> {
        self.orchestrator.change_worker(worker, change).await?;
        Ok(())
    }

    async fn is_gone(&self, worker: &WorkerName) -> Result<bool> {
        self.orchestrator.settle_workers().await?;
        Ok(self.orchestrator.forget_worker(worker).await?)
    }
}
