//! A panic while a build or a check runs ends that one, with words. The fault is in a runtime that
//! the test brings along.

#![allow(clippy::panic, clippy::unwrap_used, reason = "for tests only")]

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use airside_checks::Checks;
use airside_engine::{Engine, EngineOptions};
use airside_hub::{Hub, Identity, Proofs, Unproven};
use airside_logs::Logs;
use airside_model::{BuildId, BuildStatus, Handle, Plan, ResourceId, TeamId, VolumeId, WorkerName};
use airside_orchestrator::{Orchestrator, Patience, WorkerEntry, Workers};
use airside_runtime::{Capabilities, Error, Listed, Observation, PlacementSpec, Runtime};
use airside_secrets::Credentials;
use airside_store::{
    Container, OneOff, Pausing, SaveJob, SavePipeline, SaveResource, Store, WorkerKind,
    testing::TestDatabase,
};
use airside_telemetry::metrics::Metrics;
use airside_volumes::Volumes;
use async_trait::async_trait;
use futures::{StreamExt as _, stream::BoxStream};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// However busy the machine is.
const PATIENCE: Duration = Duration::from_secs(120);

/// A runtime with a fault: it panics whenever it is to place a step.
struct Faulty {
    name: WorkerName,
    asked: Arc<AtomicUsize>,
}

#[async_trait]
impl Runtime for Faulty {
    fn worker(&self) -> &WorkerName {
        &self.name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            mounts_volumes: false,
            lost_after: Duration::from_secs(1),
            fence_after: None,
            has_host_image: true,
            pulls_images: false,
        }
    }

    async fn place(&self, _: &PlacementSpec) -> Result<Option<String>, Error> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        panic!("a fault of the test, with a secret word")
    }

    fn observe(&self) -> BoxStream<'static, Observation> {
        futures::stream::empty().boxed()
    }

    async fn destroy(&self, _: &Handle) -> Result<(), Error> {
        Ok(())
    }

    async fn list(&self) -> Result<Vec<Listed>, Error> {
        Ok(Vec::new())
    }

    async fn seal(&self, _: &Handle, _: &str, _: &VolumeId) -> Result<(), Error> {
        Ok(())
    }
}

struct NoProofs;

#[async_trait]
impl Proofs for NoProofs {
    async fn verify(&self, _: &Container, _: Option<&str>) -> Result<(), Unproven> {
        Ok(())
    }
}

/// The parts of a server that run builds, over the faulty runtime.
struct House {
    store: Store,
    logs: Logs,
    engine: Engine,
    metrics: Metrics,
    team: TeamId,
    placed: Arc<AtomicUsize>,
    shutdown: CancellationToken,
    _database: TestDatabase,
}

impl House {
    async fn new() -> Self {
        let database = TestDatabase::sqlite();
        let (store, dir) = (database.open().await, database.dir());
        let team = store.ensure_main_team(&json!({})).await.unwrap().id;
        let (logs, metrics) = (Logs::open(&dir.join("logs")).unwrap(), Metrics::default());
        let volumes = Volumes::open(&dir.join("volumes")).unwrap();
        let shutdown = CancellationToken::new();
        let parts = airside_hub::Parts {
            store: store.clone(),
            volumes: volumes.clone(),
            proofs: Arc::new(NoProofs),
        };
        let identity = Identity::load_or_create(&dir.join("hub-key.pem")).unwrap();
        let address = (IpAddr::from(Ipv4Addr::LOCALHOST), 0).into();
        let hub = Hub::start(address, &identity, parts, shutdown.clone()).await;
        let (name, placed) = (WorkerName::new("faulty"), Arc::new(AtomicUsize::new(0)));
        let registered = store.register_worker(&name, None, &[], WorkerKind::Local);
        registered.await.unwrap();
        let entry = WorkerEntry {
            runtime: Arc::new(Faulty {
                name,
                asked: placed.clone(),
            }),
            team: None,
            tags: Vec::new(),
        };
        let orchestrator = Orchestrator::new(
            store.clone(),
            hub.unwrap(),
            volumes,
            Workers::new(vec![entry]),
            store.installation().await.unwrap(),
            Patience::default(),
            metrics.clone(),
        );
        let engine = Engine::new(EngineOptions {
            store: store.clone(),
            logs: logs.clone(),
            orchestrator,
            metrics: metrics.clone(),
            external_url: "http://127.0.0.1".to_owned(),
            address: String::new(),
            credentials: Credentials::new(airside_secrets::Options::default()),
            mock_image: None,
            registries: Default::default(),
            checkers: None,
            check_timeout: PATIENCE,
        });
        Self {
            store,
            logs,
            engine,
            metrics,
            team,
            placed,
            shutdown,
            _database: database,
        }
    }

    /// How a build ended, and its log.
    async fn ended(&self, build: BuildId) -> (BuildStatus, String) {
        let log = self.logs.follow(build, 0);
        let log = log.map(|entry| {
            let entry = entry.unwrap();
            String::from_utf8(entry.envelope.as_bytes().to_vec()).unwrap()
        });
        let log: Vec<String> = tokio::time::timeout(PATIENCE, log.collect()).await.unwrap();
        let build = self.store.build(build).await.unwrap().unwrap();
        (build.status, log.join("\n"))
    }

    async fn resource(&self) -> ResourceId {
        let text = "
resources:
- {name: r, type: mock, source: {}}
jobs:
- {name: j, plan: [{get: r, trigger: true}]}
";
        let config = airside_config::load(text).unwrap().config;
        let jobs = config.jobs.iter().zip(config.job_outlines());
        let save = SavePipeline {
            team: self.team,
            name: "p".to_owned(),
            instance_vars: Default::default(),
            jobs: jobs
                .map(|(job, outline)| SaveJob::new(&job.name, &outline))
                .collect(),
            resources: vec![SaveResource::named("r", "mock")],
            config: serde_json::to_value(&config).unwrap(),
            expected_version: None,
        };
        let pipeline = self.store.save_pipeline(save).await.unwrap().pipeline.id;
        let resumed = self.store.set_pipeline_paused(pipeline, Pausing::Resume);
        resumed.await.unwrap();
        let resource = self.store.resource(pipeline, "r").await.unwrap();
        resource.unwrap().id
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}

fn task() -> Plan {
    let image = json!({"name": "", "type": "host", "source": {}});
    let config = json!({"platform": "linux", "image_resource": image, "run": {"path": "true"}});
    let task = json!({"name": "t", "privileged": false, "config": config});
    serde_json::from_value(json!({"id": "1", "task": task})).unwrap()
}

/// Runs a test on threads with the stack that the server's have: plans nest as deeply as their
/// authors like.
fn on_large_stacks(test: impl Future<Output = ()>) {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.thread_stack_size(16 << 20).enable_all().build();
    runtime.unwrap().block_on(test);
}

#[test]
fn hostile_a_panic_ends_one_build_with_words() {
    on_large_stacks(a_panic_ends_one_build());
}

async fn a_panic_ends_one_build() {
    let house = House::new().await;
    for number in 1..=2 {
        let plan = task();
        let one_off = OneOff {
            team: house.team,
            pipeline: None,
            created_by: None,
            plan: &plan,
        };
        let build = house.engine.start(one_off).await.unwrap().id;
        let (status, log) = house.ended(build).await;
        assert_eq!(status, BuildStatus::Errored, "{log}");
        assert!(log.contains("a fault in Airside ended this build"), "{log}");
        assert!(!log.contains("secret word"), "{log}");
        assert_eq!(house.placed.load(Ordering::Relaxed), number);
    }
    let shown = house.metrics.render(std::iter::empty());
    for line in [
        "concourse_builds_errored_total 2",
        "concourse_builds_running 0",
        r#"concourse_panics_total{task="build"}"#,
    ] {
        assert!(shown.contains(line), "{line} is missing from\n{shown}");
    }
}

#[test]
fn hostile_a_panic_ends_one_check_and_the_loop_goes_on() {
    on_large_stacks(a_panic_ends_one_check());
}

async fn a_panic_ends_one_check() {
    let house = House::new().await;
    let resource = house.resource().await;
    let (checks, service) = Checks::new(airside_checks::Options {
        store: house.store.clone(),
        engine: house.engine.clone(),
        logs: house.logs.clone(),
        metrics: house.metrics.clone(),
        policy: Default::default(),
        timeout: PATIENCE,
        max_per_second: None,
    });
    let mut news = house.store.news();
    let running = tokio::spawn(service.run(house.shutdown.clone()));
    for _ in 0..3 {
        checks.want(resource);
        let told = async {
            loop {
                if let Ok(airside_store::News::CheckEnded {
                    resource: ended, ..
                }) = news.next().await
                    && ended == resource
                {
                    return;
                }
            }
        };
        tokio::time::timeout(PATIENCE, told).await.unwrap();
    }
    // Each that was asked for, and the one that was due at the start: none is tried again at once.
    let placed = house.placed.load(Ordering::Relaxed);
    assert!((1..=5).contains(&placed), "{placed}");
    assert!(!running.is_finished());
}
