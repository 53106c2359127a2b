//! The parts behind the API, joined.

use std::{sync::Arc, time::Duration};

use airside_agents::{Agents, Offer};
use airside_api::ApiState;
use airside_auth::{Auth, LocalUser};
use airside_checks::Checks;
use airside_engine::{Engine, EngineOptions};
use airside_gc::Collector;
use airside_hub::{Hub, Identity};
use airside_identity_providers::Connectors;
use airside_logs::Logs;
use airside_metrics::Metrics;
use airside_model::{Handle, InstallationId, WorkerState};
use airside_orchestrator::{Orchestrator, Patience, WorkerEntry, Workers};
use airside_registry::{Registry, Tokens};
use airside_scheduler::{Driver, Scheduling};
use airside_secrets::{Credentials, IdTokens};
use airside_store::{Alone, ContainerFilter, Store};
use airside_tasks::supervise;
use airside_volumes::Volumes;
use anyhow::Result;
use async_trait::async_trait;
use tokio::{signal::unix::Signal, sync::Mutex, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{
    agents::WorkerHall,
    artifact_images::ArtifactImages,
    builds::{EngineBuilds, EngineRunner},
    checks::{ApiChecks, BuildChecks},
    mode::Mode,
    stop,
    targets::Targets,
    workers::OrchestratedWorkers,
};
use crate::{
    data::DataFolder, logging::Level, options::ServerOptions, proofs::WorkerProofs, workers,
};

/// Until when a login lasts.
const SESSION: Duration = Duration::from_secs(24 * 3600);

/// How long a server that stops waits for containers that are being destroyed.
const SWEEPING_UP: Duration = Duration::from_secs(20);

pub(crate) struct House {
    pub(crate) engine: Engine,
    scheduling: Scheduling,
    driver: Option<Driver>,
    checks: Checks,
    check_loop: Option<airside_checks::Service>,
    collector: Collector,
    orchestrator: Orchestrator,
    agents: Agents,
    /// The workers that are not targets, and the targets until somebody attends to them.
    others: Vec<WorkerEntry>,
    targets: Option<Targets>,
    images: Option<ArtifactImages>,
    hub: Hub,
    pub(crate) volumes: Volumes,
    pub(crate) store: Store,
    auth: Auth,
    connectors: Connectors,
    credentials: Credentials,
    id_tokens: IdTokens,
    pub(crate) logs: Logs,
    metrics: Metrics,
    installation: InstallationId,
    /// This and the data folder's lock prove that no other process drives these builds.
    _alone: Alone,
}

impl House {
    /// Opens everything and goes on with the builds that were running.
    pub(crate) async fn open(
        options: &ServerOptions,
        mode: Mode,
        data: &DataFolder,
        users: &[LocalUser],
        url: &str,
        shutdown: &CancellationToken,
    ) -> Result<Self> {
        let sealer = options.keys.sealer(data)?;
        let registry_key = sealer.key_for("registry tokens");
        let quotas = options.limits.quotas();
        let store = Store::open(options.database.url(data)?, sealer).await?;
        let store = store.with_quotas(quotas.clone());
        let alone = store.take_alone().await?;
        store.release_all_leases().await?;
        let installation = store.installation().await?;
        let owners = options.connectors.main_team(users);
        store.ensure_main_team(&owners).await?;
        let connectors = options.connectors.connectors()?;
        let providers = connectors.providers();
        let auth = Auth::with_providers(store.clone(), users.to_vec(), providers, SESSION);
        let logs = Logs::open(&data.join("logs"))?;
        let volumes = Volumes::open(&data.join("volumes"))?.with_marks(options.collecting.marks()?);
        let metrics = Metrics::default();
        let images = match options.listening.registry_listen {
            Some(_) => {
                let tokens = Tokens::new(&registry_key);
                let (root, marks) = (data.join("registry"), volumes.marks());
                let registry = Registry::open_with_quotas(&root, tokens, marks, quotas)?;
                Some(ArtifactImages::new(registry, volumes.clone()))
            }
            None => None,
        };

        let found = Found {
            store: &store,
            volumes: &volumes,
            installation: &installation,
            images: images.as_ref(),
        };
        let lost_after = options.workers.agent_lost_after;
        let (agents, offers) = Agents::open(store.clone(), lost_after).await?;
        let offers = found.still_wanted(offers).await?;
        let (others, targets, proofs) = found.workers(options, mode, data, &offers).await?;
        let entries = others.iter().cloned().chain(targets.entries()).collect();
        let hub_address = options.workers.hub_address(data);
        let parts = airside_hub::Parts {
            store: store.clone(),
            volumes: volumes.clone(),
            proofs: Arc::new(proofs),
        };
        let identity = Identity::load_or_create(&data.join("hub-key.pem"))?;
        let hub = Hub::start(hub_address, &identity, parts, shutdown.clone()).await?;
        hub.listen_at(&workers::hub_socket(data))?;
        data.save_hub_port(hub.port())?;

        let lease_address = format!("{}:{}", hub_address.ip(), hub.port());
        let orchestrator = Orchestrator::new(
            store.clone(),
            hub.clone(),
            volumes.clone(),
            Workers::new(entries),
            installation.clone(),
            Patience {
                keeping: options.keeping.keeping(),
                output: options.limits.output(),
                ..Patience::default()
            },
            metrics.clone(),
        );
        orchestrator.settle_workers().await?;
        let hall = WorkerHall(orchestrator.clone());
        for offer in &offers {
            hall.join(offer);
        }
        hub.admit_agents(agents.door(Arc::new(hall)));
        let checkers = workers::checkers()?;
        let issuer = options.credentials.id_tokens.issuer(url);
        let rotation = options.credentials.id_tokens.rotation();
        let id_tokens = IdTokens::new(store.clone(), issuer, rotation);
        let credentials = Credentials::new(airside_secrets::Options {
            installation: options.credentials.installation().await?,
            checkers: Some(checkers.checkers.clone()),
            id_tokens: Some(id_tokens.clone()),
            tries: options.credentials.tries(),
            cache: options.credentials.cache(),
        });
        let engine = Engine::new(EngineOptions {
            store: store.clone(),
            logs: logs.clone(),
            orchestrator: orchestrator.clone(),
            metrics: metrics.clone(),
            external_url: url.to_owned(),
            address: lease_address,
            credentials: credentials.clone(),
            mock_image: options.workers.mock_image(),
            registries: options.workers.registries(),
            checkers: Some(checkers),
            check_timeout: options.checking.timeout(),
        });
        let (checks, check_loop) = Checks::new(airside_checks::Options {
            store: store.clone(),
            engine: engine.clone(),
            logs: logs.clone(),
            metrics: metrics.clone(),
            policy: options.checking.policy(),
            timeout: options.checking.timeout(),
            max_per_second: options.checking.max_per_second(),
        });
        let collector = Collector::new(airside_gc::Options {
            store: store.clone(),
            logs: logs.clone(),
            volumes: volumes.clone(),
            metrics: metrics.clone(),
            workers: Arc::new(CollectedWorkers(orchestrator.clone(), images.clone())),
            keep: options.collecting.keep(),
            ballast: Some(data.join("ballast")),
        });
        orchestrator.attend_kept().await?;
        engine.resume().await?;
        let (scheduling, driver) = Scheduling::new(
            store.clone(),
            Arc::new(EngineRunner(engine.clone())),
            Arc::new(BuildChecks(checks.clone())),
            options.scheduling.spacing(),
        );
        Ok(Self {
            engine,
            scheduling,
            driver: Some(driver),
            checks,
            check_loop: Some(check_loop),
            collector,
            orchestrator,
            agents,
            others,
            targets: Some(targets),
            images,
            hub,
            volumes,
            store,
            auth,
            connectors,
            credentials,
            id_tokens,
            logs,
            metrics,
            installation,
            _alone: alone,
        })
    }

    /// What runs in the background until the shutdown.
    pub(crate) fn start_loops(
        &mut self,
        shutdown: &CancellationToken,
    ) -> Result<Vec<JoinHandle<()>>> {
        let mut loops = vec![
            self.start_sweeper(shutdown),
            self.start_collector(shutdown),
            self.start_key_rotation(shutdown),
            self.start_logins(shutdown),
        ];
        if let Some(driver) = self.driver.take() {
            let until = shutdown.clone();
            loops.push(supervise("scheduler", shutdown, move || {
                driver.clone().run(until.clone())
            }));
        }
        if let Some(checks) = self.check_loop.take() {
            let until = shutdown.clone();
            loops.push(supervise("checks", shutdown, move || {
                checks.clone().run(until.clone())
            }));
        }
        let hangup = stop::on_hangup()?;
        if let Some(targets) = self.targets.take() {
            loops.push(self.start_targets(targets, hangup, shutdown));
        }
        Ok(loops)
    }

    fn start_sweeper(&self, shutdown: &CancellationToken) -> JoinHandle<()> {
        let (orchestrator, until) = (self.orchestrator.clone(), shutdown.clone());
        supervise("sweeper", shutdown, move || {
            let (orchestrator, until) = (orchestrator.clone(), until.clone());
            async move { orchestrator.sweep_forever(until).await }
        })
    }

    fn start_collector(&self, shutdown: &CancellationToken) -> JoinHandle<()> {
        let (collector, until) = (self.collector.clone(), shutdown.clone());
        supervise("collector", shutdown, move || {
            collector.clone().run(until.clone())
        })
    }

    fn start_key_rotation(&self, shutdown: &CancellationToken) -> JoinHandle<()> {
        let (id_tokens, until) = (self.id_tokens.clone(), shutdown.clone());
        supervise("keys of id tokens", shutdown, move || {
            let (id_tokens, until) = (id_tokens.clone(), until.clone());
            async move { id_tokens.rotate_forever(until).await }
        })
    }

    fn start_logins(&self, shutdown: &CancellationToken) -> JoinHandle<()> {
        let (credentials, until) = (self.credentials.clone(), shutdown.clone());
        supervise("logins to secret managers", shutdown, move || {
            let (credentials, until) = (credentials.clone(), until.clone());
            async move {
                until.run_until_cancelled(credentials.tend_forever()).await;
            }
        })
    }

    fn start_targets(
        &self,
        targets: Targets,
        hangup: Signal,
        shutdown: &CancellationToken,
    ) -> JoinHandle<()> {
        let watched = Arc::new(Mutex::new((targets, hangup)));
        let (orchestrator, others) = (self.orchestrator.clone(), self.others.clone());
        let (metrics, until) = (self.metrics.clone(), shutdown.clone());
        supervise("targets", shutdown, move || {
            let (orchestrator, others) = (orchestrator.clone(), others.clone());
            let (metrics, until, watched) = (metrics.clone(), until.clone(), watched.clone());
            async move {
                let (targets, hangup) = &mut *watched.lock().await;
                targets
                    .run(orchestrator, others, metrics, hangup, until)
                    .await;
            }
        })
    }

    /// The registry of images, if there is one.
    pub(crate) fn registry(&self) -> Option<Registry> {
        self.images.as_ref().map(|images| images.registry.clone())
    }

    pub(crate) fn api(&self, url: &str, options: &ServerOptions, log_level: Level) -> ApiState {
        ApiState::new(
            self.store.clone(),
            self.auth.clone(),
            Arc::new(EngineBuilds {
                store: self.store.clone(),
                engine: self.engine.clone(),
                scheduling: self.scheduling.clone(),
            }),
            self.logs.clone(),
            self.metrics.clone(),
            url,
            env!("CARGO_PKG_VERSION"),
        )
        .with_checks(Arc::new(ApiChecks(self.checks.clone())))
        .with_connectors(self.connectors.clone())
        .with_credentials(self.credentials.clone())
        .with_id_tokens(self.id_tokens.clone())
        .with_log_level(Arc::new(log_level))
        .with_workers(Arc::new(OrchestratedWorkers {
            orchestrator: self.orchestrator.clone(),
            agents: self.agents.clone(),
        }))
        .with_hub(self.hub.clone())
        .with_volumes(self.volumes.clone())
        .with_intercept_idle_timeout(options.keeping.idle_timeout())
        .with_cli_dir(options.keeping.cli_dir.clone())
    }

    /// Ends every step and removes its container: nobody will follow it again.
    pub(crate) async fn clear_away(&self) -> Result<()> {
        Ok(self.orchestrator.clear_away().await?)
    }

    /// Returns true if a step runs that will go on without this server.
    pub(crate) async fn leaves_steps(&self) -> bool {
        let all = self.store.containers(&ContainerFilter::default()).await;
        // Of a database that does not answer the worst is assumed.
        all.map_or(true, |all| all.iter().any(|one| one.kept_at.is_none()))
    }

    /// Takes back what this machine's steps needed of it, if none is left.
    pub(crate) async fn leave(&self, data: &DataFolder) {
        let swept = tokio::time::timeout(SWEEPING_UP, self.orchestrator.sweep_up());
        if swept.await.is_err() {
            warn!("some containers are left for the next start");
        }
        workers::leave(data, &self.installation);
    }
}

/// Whose images and containers the collector takes when the disk is full.
struct CollectedWorkers(Orchestrator, Option<ArtifactImages>);

#[async_trait]
impl airside_gc::Workers for CollectedWorkers {
    async fn collect_images(&self, unused_for: Duration) -> u64 {
        let own = match &self.1 {
            Some(images) => images.collect(unused_for).await,
            None => 0,
        };
        own + self.0.collect_images(unused_for).await
    }

    async fn largest_container(&self) -> Option<(Handle, u64)> {
        self.0.largest_container().await
    }

    async fn end_container(&self, handle: &Handle, why: &str) -> bool {
        self.0.end_container(handle, why).await
    }

    async fn registry_use(&self, team: &str) -> u64 {
        let Some(images) = &self.1 else { return 0 };
        images.registry.used_by(team).await.unwrap_or(0)
    }

    async fn give_up_kept(&self) -> bool {
        self.0.give_up_kept().await.unwrap_or_else(|error| {
            warn!(%error, "kept containers stay, though the disk is full");
            false
        })
    }
}

/// What workers are made with.
struct Found<'a> {
    store: &'a Store,
    volumes: &'a Volumes,
    installation: &'a InstallationId,
    images: Option<&'a ArtifactImages>,
}

impl Found<'_> {
    /// Agents that are gone, with their token, are forgotten once nothing of theirs is left.
    async fn still_wanted(&self, offers: Vec<Offer>) -> Result<Vec<Offer>> {
        let states = self.store.worker_states().await?;
        let passes = self.store.agent_passes().await?;
        let mut wanted = Vec::new();
        for offer in offers {
            let worker = offer.worker();
            let gone = states.contains(&(worker.clone(), WorkerState::Retired));
            let has_token = passes.iter().any(|pass| pass.name == worker.as_str());
            let filter = ContainerFilter {
                worker: Some(worker.clone()),
                ..ContainerFilter::default()
            };
            if !gone || has_token || !self.store.containers(&filter).await?.is_empty() {
                wanted.push(offer);
            }
        }
        Ok(wanted)
    }

    async fn workers(
        &self,
        options: &ServerOptions,
        mode: Mode,
        data: &DataFolder,
        agents: &[Offer],
    ) -> Result<(Vec<WorkerEntry>, Targets, WorkerProofs)> {
        let (mut others, proofs) = (Vec::new(), WorkerProofs::default());
        if mode.has_local_worker(options) {
            let shim = options.workers.find_shim()?;
            let volumes = self.volumes.clone();
            let isolation = options.isolation.choices();
            let local = workers::local(
                data,
                self.store,
                volumes,
                self.installation,
                &shim,
                isolation,
                options.workers.registries().mirrors,
            );
            others.push(local.await?);
        }
        let source = options.workers.target_source();
        let targets = Targets::open(source, self.installation, &proofs, self.store, self.images);
        let targets = targets.await?;
        let names: Vec<_> = others
            .iter()
            .cloned()
            .chain(targets.entries())
            .map(|entry| entry.runtime.worker().clone())
            .chain(agents.iter().map(|offer| offer.worker().clone()))
            .collect();
        for worker in self.store.workers().await? {
            if !names.contains(&worker.name) {
                info!(worker = %worker.name, "worker gone: it is no longer configured");
            }
        }
        self.store.retain_workers(&names).await?;
        Ok((others, targets, proofs))
    }
}
