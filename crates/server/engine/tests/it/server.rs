//! The parts of a server that drive builds, over a runtime that the test brings.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use airside_checks::CheckWays;
use airside_engine::{Engine, EngineOptions};
use airside_hub::{Hub, HubIdentity, Proofs, Unproven};
use airside_logs::Logs;
use airside_model::{BuildId, BuildStatus, Plan, TeamId, WorkerName};
use airside_orchestrator::{Orchestrator, StepLimits, WorkerEntry, Workers};
use airside_runtime::AnyRuntime;
use airside_secrets::Credentials;
use airside_setting::{AllowAll, Judge, PipelineSetter};
use airside_store::{Container, OneOff, Store, WorkerKind, testing::TestDatabase};
use airside_telemetry::metrics::Metrics;
use airside_volumes::Volumes;
use async_trait::async_trait;
use futures::StreamExt as _;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    WAIT_TIMEOUT,
    scripted::{Machine, ScriptedRuntime},
};

struct NoProofs;

#[async_trait]
impl Proofs for NoProofs {
    async fn verify(&self, _: &Container, _: Option<&str>) -> Result<(), Unproven> {
        Ok(())
    }
}

/// A database, and a machine whose containers outlive servers.
pub(crate) struct Site {
    database: TestDatabase,
    pub(crate) machine: Machine,
}

impl Site {
    pub(crate) fn new() -> Self {
        Self {
            database: TestDatabase::sqlite(),
            machine: Machine::new(),
        }
    }

    /// Starts a server on what earlier ones left, and resumes their builds.
    pub(crate) async fn start(&self) -> Server {
        self.start_judged(Arc::new(AllowAll)).await
    }

    /// Starts a server that asks this judge before it sets pipelines.
    pub(crate) async fn start_judged(&self, judge: Arc<dyn Judge>) -> Server {
        let runtime = ScriptedRuntime {
            name: WorkerName::new("scripted"),
            machine: self.machine.clone(),
        };
        let server = Server::start_judged(&self.database, Arc::new(runtime), judge).await;
        self.machine.hub_is_at(server.hub.port());
        server.engine.resume().await.unwrap();
        server
    }

    /// Stops a server. Containers stay, and find no hub.
    pub(crate) async fn stop(&self, server: Server) {
        self.machine.hub_is_at(0);
        server.engine.shut_down().await;
    }
}

pub(crate) struct Server {
    pub(crate) store: Store,
    pub(crate) logs: Logs,
    pub(crate) engine: Engine,
    pub(crate) orchestrator: Orchestrator,
    pub(crate) ways: CheckWays,
    pub(crate) credentials: Credentials,
    pub(crate) metrics: Metrics,
    pub(crate) team: TeamId,
    pub(crate) volumes: Volumes,
    pub(crate) shutdown: CancellationToken,
    hub: Hub,
}

impl Server {
    pub(crate) async fn start(database: &TestDatabase, runtime: AnyRuntime) -> Self {
        Self::start_judged(database, runtime, Arc::new(AllowAll)).await
    }

    async fn start_judged(
        database: &TestDatabase,
        runtime: AnyRuntime,
        judge: Arc<dyn Judge>,
    ) -> Self {
        let (store, dir) = (database.open().await, database.dir());
        store.release_all_leases().await.unwrap();
        let team = store.ensure_main_team(&json!({})).await.unwrap().id;
        let (logs, metrics) = (Logs::open(&dir.join("logs")).unwrap(), Metrics::default());
        let volumes = Volumes::open(&dir.join("volumes")).unwrap();
        let shutdown = CancellationToken::new();
        let parts = airside_hub::Parts {
            store: store.clone(),
            volumes: volumes.clone(),
            proofs: Arc::new(NoProofs),
        };
        let identity = HubIdentity::load_or_create(&dir.join("hub-key.pem")).unwrap();
        let address = (IpAddr::from(Ipv4Addr::LOCALHOST), 0).into();
        let hub = Hub::start(address, &identity, parts, shutdown.clone()).await;
        let hub = hub.unwrap();
        let registered = store.register_worker(runtime.worker(), None, &[], WorkerKind::Local);
        registered.await.unwrap();
        let entry = WorkerEntry {
            runtime,
            team: None,
            tags: Vec::new(),
        };
        let orchestrator = Orchestrator::new(
            store.clone(),
            hub.clone(),
            volumes.clone(),
            Workers::new(vec![entry]),
            store.installation().await.unwrap(),
            StepLimits::default(),
            metrics.clone(),
        );
        let ways = CheckWays::new(orchestrator.clone(), None);
        let credentials = Credentials::new(airside_secrets::Options::default());
        let engine = Engine::new(EngineOptions {
            store: store.clone(),
            logs: logs.clone(),
            orchestrator: orchestrator.clone(),
            metrics: metrics.clone(),
            external_url: "http://127.0.0.1".to_owned(),
            address: String::new(),
            pipelines: PipelineSetter::new(store.clone()).with_judge(judge),
            credentials: credentials.clone(),
            mock_image: None,
            registries: Default::default(),
            check_ways: ways.clone(),
            check_timeout: WAIT_TIMEOUT,
        });
        Self {
            store,
            logs,
            engine,
            orchestrator,
            ways,
            credentials,
            metrics,
            team,
            volumes,
            shutdown,
            hub,
        }
    }

    /// Creates a build of the plan, and starts it.
    pub(crate) async fn run(&self, plan: &Plan) -> BuildId {
        let one_off = OneOff {
            team: self.team,
            pipeline: None,
            created_by: None,
            plan,
        };
        self.engine.start(one_off).await.unwrap().id
    }

    /// Waits for the end of a build. Returns its status and its log.
    pub(crate) async fn ended(&self, build: BuildId) -> (BuildStatus, String) {
        let log = self.logs.follow(build, 0).map(|entry| {
            let entry = entry.unwrap();
            String::from_utf8(entry.envelope.as_bytes().to_vec()).unwrap()
        });
        let log: Vec<String> = tokio::time::timeout(WAIT_TIMEOUT, log.collect())
            .await
            .unwrap();
        let build = self.store.build(build).await.unwrap().unwrap();
        (build.status, log.join("\n"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}
