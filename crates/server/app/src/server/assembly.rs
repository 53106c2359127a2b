//! The server's parts, joined. [`Server::open`] reads from top to bottom as who gets what.

use std::{sync::Arc, time::Duration};

use airside_agents::Agents;
use airside_api::ApiState;
use airside_auth::{Auth, LocalUser};
use airside_checks::{CheckLoop, CheckService, CheckServiceOptions, CheckWays, WorkerCheckers};
use airside_control::{Control, ControlParts, DELETION_GRACE};
use airside_engine::{Engine, EngineOptions};
use airside_gc::Collector;
use airside_hub::Hub;
use airside_identity_providers::Connectors;
use airside_logs::Logs;
use airside_model::{BuildId, InstallationId, ResourceId};
use airside_orchestrator::{Orchestrator, WorkerEntry};
use airside_registry::Registry;
use airside_scheduler::{Scheduler, SchedulerLoop};
use airside_secrets::{Credentials, IdTokens};
use airside_setting::PipelineSetter;
use airside_store::{Alone, ContainerFilter, Store};
use airside_telemetry::metrics::Metrics;
use airside_volumes::Volumes;
use anyhow::Result;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{
    artifact_images::ArtifactImages, builds::EngineBuilds, collected_workers::CollectedWorkers,
    fleet::Fleet, foundation::Foundation, mode::Mode, stop::LeftContainers, targets::Targets,
    workers::OrchestratedWorkers,
};
use crate::{data::DataFolder, logging::Level, options::ServerOptions, workers};

/// Time that a stopping server gives containers that are being destroyed.
const SWEEP_UP_TIMEOUT: Duration = Duration::from_secs(20);

/// A server with everything but its listeners.
pub(crate) struct Server {
    pub(crate) engine: Engine,
    scheduler: Scheduler,
    pub(super) driver: Option<SchedulerLoop>,
    checks: CheckService,
    pub(super) check_loop: Option<CheckLoop>,
    pub(super) collector: Collector,
    /// Present if pipelines are objects of clusters.
    pub(super) control: Option<(Control, ControlParts)>,
    pub(crate) orchestrator: Orchestrator,
    agents: Agents,
    /// Workers that are no targets.
    pub(super) others: Vec<WorkerEntry>,
    /// Targets, until the loop that follows them takes them.
    pub(super) targets: Option<Targets>,
    images: Option<ArtifactImages>,
    pub(crate) hub: Hub,
    pub(crate) volumes: Volumes,
    pub(crate) store: Store,
    auth: Auth,
    connectors: Connectors,
    pipelines: PipelineSetter,
    pub(super) credentials: Credentials,
    pub(super) id_tokens: IdTokens,
    pub(crate) logs: Logs,
    pub(super) metrics: Metrics,
    installation: InstallationId,
    /// This and the data folder's lock prove that no other process drives these builds.
    _alone: Alone,
}

impl Server {
    /// Opens every part and resumes the builds that were running.
    pub(crate) async fn open(
        options: &ServerOptions,
        mode: Mode,
        data: &DataFolder,
        users: &[LocalUser],
        url: &str,
        shutdown: &CancellationToken,
    ) -> Result<Self> {
        let base = Foundation::open(options, data, users).await?;
        let fleet = Fleet::open(&base, options, mode, data, shutdown).await?;
        let checkers = workers::checkers(options.isolation.choices().metadata_access)?;
        let issuer = options.credentials.id_tokens.issuer(url);
        let rotation = options.credentials.id_tokens.rotation();
        let id_tokens = IdTokens::new(base.store.clone(), issuer, rotation);
        let credentials = credentials(options, &checkers, &id_tokens).await?;
        let ways = CheckWays::new(fleet.orchestrator.clone(), Some(checkers));
        let control = options.control.open(&base.store, &base.metrics).await?;
        let pipelines = pipelines(&base, control.as_ref());
        let engine = engine(&base, &fleet, options, url, &credentials, &ways, &pipelines);
        let (checks, check_loop) = checks(&base, &engine, options, &credentials, ways);
        let collector = collector(&base, &fleet, options, data);
        fleet.orchestrator.attend_kept().await?;
        engine.resume().await?;
        let (runs, wants) = (engine.clone(), checks.clone());
        let (scheduler, driver) = Scheduler::new(
            base.store.clone(),
            Arc::new(move |build: BuildId| runs.ensure_running(build)),
            Arc::new(move |inputs: &[ResourceId]| inputs.iter().for_each(|id| wants.want(*id))),
            options.scheduling.spacing(),
        );
        let parts = control_parts(&base.store, &engine, &scheduler, &pipelines, url);
        Ok(Self {
            control: control.map(|control| (control, parts)),
            engine,
            scheduler,
            driver: Some(driver),
            checks,
            check_loop: Some(check_loop),
            collector,
            orchestrator: fleet.orchestrator,
            agents: fleet.agents,
            others: fleet.others,
            targets: Some(fleet.targets),
            images: base.images,
            hub: fleet.hub,
            volumes: base.volumes,
            store: base.store,
            auth: base.auth,
            connectors: base.connectors,
            pipelines,
            credentials,
            id_tokens,
            logs: base.logs,
            metrics: base.metrics,
            installation: base.installation,
            _alone: base.alone,
        })
    }

    /// Returns the registry of images, if the server has one.
    pub(crate) fn registry(&self) -> Option<Registry> {
        self.images.as_ref().map(|images| images.registry.clone())
    }

    /// Returns the state of the API's routes, over these parts.
    pub(crate) fn api(&self, url: &str, options: &ServerOptions, log_level: Level) -> ApiState {
        ApiState::new(
            self.store.clone(),
            self.auth.clone(),
            Arc::new(EngineBuilds {
                store: self.store.clone(),
                engine: self.engine.clone(),
                scheduler: self.scheduler.clone(),
            }),
            self.logs.clone(),
            self.metrics.clone(),
            url,
            env!("CARGO_PKG_VERSION"),
        )
        .with_checks(Arc::new(self.checks.clone()))
        .with_connectors(self.connectors.clone())
        .with_pipelines(self.pipelines.clone())
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

    /// Ends every step and removes its container: no server will follow it again.
    pub(crate) async fn clear_away(&self) -> Result<()> {
        Ok(self.orchestrator.clear_away().await?)
    }

    /// Returns the containers that stay without this server.
    pub(crate) async fn left_containers(&self) -> LeftContainers {
        match self.store.containers(&ContainerFilter::default()).await {
            Ok(all) => LeftContainers {
                running: all.iter().any(|one| one.kept_at.is_none()),
                kept: all.iter().filter(|one| one.kept_at.is_some()).count(),
            },
            // A database that does not answer may have any.
            Err(_) => LeftContainers {
                running: true,
                kept: 0,
            },
        }
    }

    /// Removes what this machine's steps needed of it, if no step is left.
    pub(crate) async fn leave(&self, data: &DataFolder) {
        let swept = tokio::time::timeout(SWEEP_UP_TIMEOUT, self.orchestrator.sweep_up());
        if swept.await.is_err() {
            warn!("containers left for the next start");
        }
        workers::leave(data, &self.installation);
    }
}

async fn credentials(
    options: &ServerOptions,
    checkers: &WorkerCheckers,
    id_tokens: &IdTokens,
) -> Result<Credentials> {
    Ok(Credentials::new(airside_secrets::Options {
        installation: options.credentials.installation().await?,
        checkers: Some(checkers.checkers.clone()),
        id_tokens: Some(id_tokens.clone()),
        tries: options.credentials.tries(),
        cache: options.credentials.cache(),
    }))
}

/// Returns the setter of pipelines, for the API, for steps and for objects of clusters. Clusters
/// of the control file judge them.
fn pipelines(base: &Foundation, control: Option<&Control>) -> PipelineSetter {
    let setter = PipelineSetter::new(base.store.clone());
    match control {
        Some(control) => setter.with_judge(Arc::new(control.clone())),
        None => setter,
    }
}

/// Returns what objects of clusters act on.
fn control_parts(
    store: &Store,
    engine: &Engine,
    scheduler: &Scheduler,
    pipelines: &PipelineSetter,
    url: &str,
) -> ControlParts {
    let builds = EngineBuilds {
        store: store.clone(),
        engine: engine.clone(),
        scheduler: scheduler.clone(),
    };
    ControlParts {
        setter: pipelines.clone(),
        builds: Arc::new(builds),
        external_url: url.to_owned(),
        deletion_grace: DELETION_GRACE,
    }
}

fn engine(
    base: &Foundation,
    fleet: &Fleet,
    options: &ServerOptions,
    url: &str,
    credentials: &Credentials,
    check_ways: &CheckWays,
    pipelines: &PipelineSetter,
) -> Engine {
    Engine::new(EngineOptions {
        store: base.store.clone(),
        logs: base.logs.clone(),
        orchestrator: fleet.orchestrator.clone(),
        metrics: base.metrics.clone(),
        external_url: url.to_owned(),
        address: fleet.hub_address.to_string(),
        pipelines: pipelines.clone(),
        credentials: credentials.clone(),
        mock_image: options.workers.local.mock_image(),
        registries: options.workers.registries(),
        check_ways: check_ways.clone(),
        check_timeout: options.checking.timeout(),
    })
}

fn checks(
    base: &Foundation,
    engine: &Engine,
    options: &ServerOptions,
    credentials: &Credentials,
    ways: CheckWays,
) -> (CheckService, CheckLoop) {
    CheckService::new(CheckServiceOptions {
        store: base.store.clone(),
        ways,
        builds: Arc::new(engine.clone()),
        credentials: credentials.clone(),
        logs: base.logs.clone(),
        metrics: base.metrics.clone(),
        policy: options.checking.policy(),
        timeout: options.checking.timeout(),
        max_per_second: options.checking.max_per_second(),
    })
}

fn collector(
    base: &Foundation,
    fleet: &Fleet,
    options: &ServerOptions,
    data: &DataFolder,
) -> Collector {
    let workers = CollectedWorkers {
        orchestrator: fleet.orchestrator.clone(),
        images: base.images.clone(),
    };
    Collector::new(airside_gc::Options {
        store: base.store.clone(),
        logs: base.logs.clone(),
        volumes: base.volumes.clone(),
        metrics: base.metrics.clone(),
        workers: Arc::new(workers),
        keep: options.collecting.keep(),
        ballast: Some(data.join("ballast")),
    })
}
