//! A pipeline, the driver, and a runner of builds.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use airside_model::{
    BuildId, BuildStatus, JobId, PipelineId, Plan, PlanId, PlanNode, ResourceId, ResourceVersionId,
    TeamId, Version,
};
use airside_scheduler::{BuildRunner, InputChecks, Scheduler, Spacing};
use airside_store::{
    Build, BuildFilter, BuildPage, InstanceVars, NewBuild, Pausing, SaveJob, SavePipeline,
    SaveResource, SavedVersions, Store, testing::TestDatabase,
};
use serde_json::json;
use tokio::{
    sync::mpsc,
    task::JoinHandle,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

/// Long enough for anything that is going to happen.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);

/// Hands builds on to the test.
struct Starter(mpsc::UnboundedSender<BuildId>, AtomicBool);

impl BuildRunner for Starter {
    fn run(&self, build: BuildId) {
        assert!(
            !self.1.swap(false, Ordering::Relaxed),
            "a fault of the test"
        );
        let _ = self.0.send(build);
    }
}

struct Asker(mpsc::UnboundedSender<Vec<ResourceId>>);

impl InputChecks for Asker {
    fn request(&self, resources: &[ResourceId]) {
        let _ = self.0.send(resources.to_vec());
    }
}

pub(crate) struct Stage {
    pub(crate) store: Store,
    pub(crate) team: TeamId,
    pub(crate) pipeline: PipelineId,
    pub(crate) scheduler: Scheduler,
    starter: Arc<Starter>,
    asker: Arc<Asker>,
    started: mpsc::UnboundedReceiver<BuildId>,
    pub(crate) asked: mpsc::UnboundedReceiver<Vec<ResourceId>>,
    driver: JoinHandle<()>,
    _database: TestDatabase,
}

pub(crate) fn v(number: i64) -> Version {
    Version::from([("v", number.to_string())])
}

fn to_save(team: TeamId, name: &str, text: &str) -> SavePipeline {
    let config = airside_config::load(text).expect("a valid pipeline").config;
    let jobs = config.jobs.iter().zip(config.job_outlines());
    let jobs = jobs.map(|(job, outline)| SaveJob::new(&job.name, &outline).formerly(&job.old_name));
    let resources = config.resources.iter().map(|resource| {
        SaveResource::named(&resource.name, &resource.type_)
            .formerly(&resource.old_name)
            .pinned(resource.version.clone())
    });
    SavePipeline {
        team,
        name: name.into(),
        instance_vars: InstanceVars::default(),
        jobs: jobs.collect(),
        resources: resources.collect(),
        config: serde_json::to_value(&config).unwrap(),
        expected_version: None,
    }
}

impl Stage {
    /// A pipeline that is not paused, and the driver.
    pub(crate) async fn new(text: &str) -> Self {
        Self::on(TestDatabase::sqlite(), text).await
    }

    pub(crate) async fn spaced(spacing: Spacing, text: &str) -> Self {
        Self::with(TestDatabase::sqlite(), spacing, text).await
    }

    pub(crate) async fn on(database: TestDatabase, text: &str) -> Self {
        Self::with(database, Spacing::default(), text).await
    }

    async fn with(database: TestDatabase, spacing: Spacing, text: &str) -> Self {
        let store = database.open().await;
        let team = store.ensure_main_team(&json!({})).await.unwrap().id;
        let saved = store.save_pipeline(to_save(team, "p", text)).await.unwrap();
        let pipeline = saved.pipeline.id;
        let unpaused = store.set_pipeline_paused(pipeline, Pausing::Resume).await;
        unpaused.unwrap();
        let (sender, started) = mpsc::unbounded_channel();
        let (wants, asked) = mpsc::unbounded_channel();
        let (starter, asker) = (
            Arc::new(Starter(sender, AtomicBool::new(false))),
            Arc::new(Asker(wants)),
        );
        let (scheduler, driver) =
            Scheduler::new(store.clone(), starter.clone(), asker.clone(), spacing);
        Self {
            driver: tokio::spawn(driver.run(CancellationToken::new())),
            store,
            team,
            pipeline,
            scheduler,
            starter,
            asker,
            started,
            asked,
            _database: database,
        }
    }

    /// Makes the runner of builds panic once.
    pub(crate) fn break_runner(&self) {
        self.starter.1.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.starter.1.load(Ordering::Relaxed)
    }

    pub(crate) fn is_driven(&self) -> bool {
        !self.driver.is_finished()
    }

    /// The driver dies wherever it is, and another one begins.
    pub(crate) async fn crash(&mut self) {
        self.driver.abort();
        let _ = (&mut self.driver).await;
        let (scheduler, driver) = Scheduler::new(
            self.store.clone(),
            self.starter.clone(),
            self.asker.clone(),
            Spacing::default(),
        );
        self.scheduler = scheduler;
        self.driver = tokio::spawn(driver.run(CancellationToken::new()));
    }

    pub(crate) async fn set(&self, text: &str) {
        let save = to_save(self.team, "p", text);
        self.store.save_pipeline(save).await.unwrap();
    }

    pub(crate) async fn job(&self, name: &str) -> JobId {
        let job = self.store.job(self.pipeline, name).await.unwrap();
        job.expect("the job is there").id
    }

    pub(crate) async fn resource(&self, name: &str) -> ResourceId {
        let resource = self.store.resource(self.pipeline, name).await.unwrap();
        resource.expect("the resource is there").id
    }

    /// Saves versions as a check would.
    pub(crate) async fn found(&self, resource: &str, numbers: &[i64]) {
        let resource = self.resource(resource).await;
        let from = self.store.check_from(resource).await.unwrap().unwrap();
        let versions: Vec<_> = numbers.iter().map(|number| (v(*number), vec![])).collect();
        let saved = self.store.save_versions(resource, &from, &versions).await;
        assert_ne!(saved.unwrap(), SavedVersions::Outdated);
    }

    pub(crate) async fn version(&self, resource: &str, number: i64) -> ResourceVersionId {
        let resource = self.resource(resource).await;
        let found = self.store.version_containing(resource, &v(number)).await;
        found.unwrap().expect("the version is there")
    }

    pub(crate) async fn trigger(&self, job: &str) -> Build {
        let new = NewBuild {
            job: self.job(job).await,
            created_by: Some("me"),
        };
        self.store.create_build(new).await.unwrap()
    }

    /// The next build that is run, as `job #name` and its inputs. It is started, too.
    pub(crate) async fn next(&mut self) -> Started {
        loop {
            let next = timeout(WAIT_TIMEOUT, self.started.recv()).await;
            let id = next.expect("a build is run").expect("the driver lives");
            let build = self.store.build(id).await.unwrap().unwrap();
            // A build may be handed over more than once.
            if build.status == BuildStatus::Pending {
                return self.take(build).await;
            }
        }
    }

    async fn take(&self, build: Build) -> Started {
        let lease = self
            .store
            .take_build(build.id, "me", "here", WAIT_TIMEOUT)
            .await;
        let lease = lease.unwrap().expect("the build is unfinished");
        if !build.aborted {
            self.store.start_build(&lease, &plan()).await.unwrap();
        }
        let inputs = self.store.build_inputs(build.id).await.unwrap();
        let inputs = inputs.iter().map(|input| {
            let version = input.version.0.values().next().cloned();
            format!("{}={}", input.name, version.unwrap_or_default())
        });
        Started {
            shown: format!(
                "{} #{} {}",
                build.job_name.as_deref().unwrap_or_default(),
                build.name,
                inputs.collect::<Vec<_>>().join(" ")
            )
            .trim_end()
            .to_owned(),
            build,
            lease,
        }
    }

    pub(crate) async fn finish(&self, started: &Started, status: BuildStatus) {
        self.store
            .finish_build(&started.lease, status)
            .await
            .unwrap();
    }

    pub(crate) async fn succeed(&self, started: &Started) {
        self.finish(started, BuildStatus::Succeeded).await;
    }

    /// Runs the next build to its end.
    pub(crate) async fn run_next(&mut self) -> String {
        let next = self.next().await;
        self.succeed(&next).await;
        next.shown
    }

    /// Nothing is run, also once everything that was told has been looked at.
    pub(crate) async fn nothing_runs(&mut self) {
        self.settled().await;
        while let Ok(id) = self.started.try_recv() {
            let build = self.store.build(id).await.unwrap().unwrap();
            assert_ne!(build.status, BuildStatus::Pending, "{build:?} is run");
        }
    }

    /// The driver has looked at all it was told of: it answers in turn, twice as the first answer
    /// may come before it heard.
    pub(crate) async fn settled(&self) {
        for _ in 0..3 {
            let asked = self.scheduler.preparation(BuildId(0));
            timeout(WAIT_TIMEOUT, asked).await.unwrap().unwrap();
            tokio::task::yield_now().await;
        }
    }

    /// All builds, oldest first, as `job #name status`.
    pub(crate) async fn builds(&self) -> Vec<String> {
        let builds = self
            .store
            .builds(&BuildFilter::default(), BuildPage::default())
            .await;
        let builds = builds.unwrap();
        let shown = builds.iter().rev().map(|build| {
            let job = build.job_name.as_deref().unwrap_or_default();
            format!("{job} #{} {}", build.name, build.status)
        });
        shown.collect()
    }

    /// Waits until this is so.
    pub(crate) async fn until<F: Future<Output = bool>>(&self, what: &str, is_so: impl Fn() -> F) {
        let (mut changes, start) = (self.store.subscribe(), Instant::now());
        while !is_so().await {
            assert!(start.elapsed() < WAIT_TIMEOUT, "not so: {what}");
            let _ = timeout(Duration::from_millis(200), changes.changed()).await;
        }
    }
}

pub(crate) struct Started {
    pub(crate) shown: String,
    pub(crate) build: Build,
    lease: airside_store::Lease,
}

pub(crate) fn plan() -> Plan {
    Plan {
        id: PlanId::new("1"),
        attempts: Vec::new(),
        node: PlanNode::Do(Vec::new()),
    }
}
