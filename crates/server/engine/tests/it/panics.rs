//! A panic while a build or a check runs ends that one, with words. The fault is in a runtime that
//! the test brings along.

use std::{
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use airside_checks::{CheckService, CheckServiceOptions};
use airside_model::{BuildStatus, Handle, ResourceId, VolumeId, WorkerName};
use airside_runtime::{Capabilities, Error, Listed, Observation, PlacementSpec, Runtime};
use airside_store::{Pausing, SaveJob, SavePipeline, SaveResource, testing::TestDatabase};
use async_trait::async_trait;
use futures::{StreamExt as _, stream::BoxStream};

use crate::{
    WAIT_TIMEOUT, on_large_stacks,
    plans::{plan, task},
    server::Server,
};

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

/// A server over the faulty runtime.
struct FaultyServer {
    server: Server,
    placed: Arc<AtomicUsize>,
    _database: TestDatabase,
}

impl Deref for FaultyServer {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl FaultyServer {
    async fn start() -> Self {
        let (database, placed) = (TestDatabase::sqlite(), Arc::new(AtomicUsize::new(0)));
        let runtime = Faulty {
            name: WorkerName::new("faulty"),
            asked: placed.clone(),
        };
        Self {
            server: Server::start(&database, Arc::new(runtime)).await,
            placed,
            _database: database,
        }
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

#[test]
fn hostile_a_panic_ends_one_build_with_words() {
    on_large_stacks(a_panic_ends_one_build());
}

async fn a_panic_ends_one_build() {
    let server = FaultyServer::start().await;
    for number in 1..=2 {
        let build = server.run(&plan(task("step"))).await;
        let (status, log) = server.ended(build).await;
        assert_eq!(status, BuildStatus::Errored, "{log}");
        assert!(log.contains("a fault in Airside ended this build"), "{log}");
        assert!(!log.contains("secret word"), "{log}");
        assert_eq!(server.placed.load(Ordering::Relaxed), number);
    }
    let shown = server.metrics.render(std::iter::empty());
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
    let server = FaultyServer::start().await;
    let resource = server.resource().await;
    let (checks, check_loop) = CheckService::new(CheckServiceOptions {
        store: server.store.clone(),
        ways: server.ways.clone(),
        builds: Arc::new(server.engine.clone()),
        credentials: server.credentials.clone(),
        logs: server.logs.clone(),
        metrics: server.metrics.clone(),
        policy: Default::default(),
        timeout: WAIT_TIMEOUT,
        max_per_second: None,
    });
    let mut news = server.store.news();
    let running = tokio::spawn(check_loop.run(server.shutdown.clone()));
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
        tokio::time::timeout(WAIT_TIMEOUT, told).await.unwrap();
    }
    // Each that was asked for, and the one that was due at the start: none is tried again at once.
    let placed = server.placed.load(Ordering::Relaxed);
    assert!((1..=5).contains(&placed), "{placed}");
    assert!(!running.is_finished());
}
