//! A server without its runtimes: builds and checks are written as the engine writes them.

use std::{fs, path::Path, sync::Arc, time::Duration};

use airside_gc::{Collector, Keep, Kind, Options, Workers};
use airside_logs::Logs;
use airside_model::{
    BuildId, BuildStatus, Handle, JobId, MetadataField, PipelineId, Plan, PlanId, PlanNode,
    ResourceId, TeamId, Version, VolumeId,
    event::{Event, Origin},
};
use airside_store::{
    EndedCheck, GivenInput, InstanceVars, Lease, Micros, NewBuild, OneOff, Pausing, SaveJob,
    SavePipeline, SaveResource, Store, TaskCache, now, testing::TestDatabase,
};
use airside_telemetry::metrics::Metrics;
use airside_volumes::Volumes;
use async_trait::async_trait;
use serde_json::json;
use tempfile::TempDir;

/// A machine without images and kept containers.
pub struct NoWorkers;

#[async_trait]
impl Workers for NoWorkers {
    async fn largest_container(&self) -> Option<(Handle, u64)> {
        None
    }

    async fn end_container(&self, _handle: &Handle, _why: &str) -> bool {
        false
    }

    async fn registry_use(&self, _team: &str) -> u64 {
        0
    }

    async fn collect_images(&self, _: Duration) -> u64 {
        0
    }

    async fn give_up_kept(&self) -> bool {
        false
    }
}

pub struct Stage {
    pub database: TestDatabase,
    pub store: Store,
    pub logs: Logs,
    pub volumes: Volumes,
    pub collector: Collector,
    pub team: TeamId,
    pub folder: TempDir,
}

/// A pipeline's rows.
pub struct PipelineRows {
    pub pipeline: PipelineId,
    pub jobs: Vec<JobId>,
    pub resources: Vec<ResourceId>,
}

/// The files and rows that a build is to leave behind.
pub struct Leaves<'a> {
    pub status: BuildStatus,
    pub input: Option<(ResourceId, &'a Version)>,
    /// Bytes of its output and of its task's cache.
    pub bytes: usize,
}

impl Stage {
    pub async fn new(database: TestDatabase, keep: Keep) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let volumes = Volumes::open(&folder.path().join("volumes")).unwrap();
        Self::with_volumes(database, keep, folder, volumes).await
    }

    pub async fn with_volumes(
        database: TestDatabase,
        keep: Keep,
        folder: TempDir,
        volumes: Volumes,
    ) -> Self {
        let store = database.open().await;
        let team = store.ensure_main_team(&json!({})).await.unwrap().id;
        let logs = Logs::open(&folder.path().join("logs")).unwrap();
        let collector = Collector::new(Options {
            store: store.clone(),
            logs: logs.clone(),
            volumes: volumes.clone(),
            metrics: Metrics::default(),
            workers: Arc::new(NoWorkers),
            keep,
            ballast: None,
        });
        Self {
            database,
            store,
            logs,
            volumes,
            collector,
            team,
            folder,
        }
    }

    /// A pipeline that runs, whose jobs keep so many logs.
    pub async fn pipeline(
        &self,
        name: &str,
        jobs: usize,
        resources: usize,
        logs: i64,
    ) -> PipelineRows {
        let outline = json!({"build_log_retention": {"builds": logs}});
        let job = |number| SaveJob::new(&format!("j{number}"), &outline);
        let save = SavePipeline {
            team: self.team,
            name: name.to_owned(),
            instance_vars: InstanceVars::default(),
            config: json!({}),
            jobs: (0..jobs).map(job).collect(),
            resources: (0..resources)
                .map(|number| SaveResource::named(&format!("r{number}"), "mock"))
                .collect(),
            expected_version: None,
        };
        let pipeline = self.store.save_pipeline(save).await.unwrap().pipeline.id;
        let resume = Pausing::Resume;
        let resumed = self.store.set_pipeline_paused(pipeline, resume).await;
        resumed.unwrap();
        let jobs = self.store.jobs(pipeline).await.unwrap();
        let resources = self.store.resources(pipeline).await.unwrap();
        PipelineRows {
            pipeline,
            jobs: jobs.iter().map(|job| job.id).collect(),
            resources: resources.iter().map(|resource| resource.id).collect(),
        }
    }

    /// A check that found this version.
    pub async fn find(&self, resource: ResourceId, version: &Version) {
        let from = self.store.check_from(resource).await.unwrap().unwrap();
        let found: [(Version, Vec<MetadataField>); 1] = [(version.clone(), Vec::new())];
        let saved = self.store.save_versions(resource, &from, &found).await;
        saved.unwrap();
    }

    /// A check of which people should see how it went, long ago.
    pub async fn failed_check(&self, line: &PipelineRows, resource: ResourceId) {
        let then = Micros(now().0 - 3_600_000_000);
        let ended = EndedCheck {
            team: self.team,
            pipeline: line.pipeline,
            resource,
            plan: &plan(),
            status: BuildStatus::Failed,
            started_at: then,
            ended_at: then,
        };
        let build = self.store.save_check(ended).await.unwrap();
        self.write_log(build, 1).await;
    }

    /// A build of the job, from its creation to its end.
    pub async fn build(&self, job: JobId, leaves: &Leaves<'_>) -> BuildId {
        let lease = self.begin(job, leaves.input).await;
        self.end(&lease, Some(job), leaves).await
    }

    /// Makes a build without a job.
    pub async fn one_off(&self, leaves: &Leaves<'_>) -> BuildId {
        let one_off = OneOff {
            team: self.team,
            pipeline: None,
            created_by: Some("ann"),
            plan: &plan(),
        };
        let build = self.store.create_one_off(one_off).await.unwrap().id;
        let lease = self.take(build).await;
        self.end(&lease, None, leaves).await
    }

    pub async fn begin(&self, job: JobId, input: Option<(ResourceId, &Version)>) -> Lease {
        let new = NewBuild {
            job,
            created_by: None,
        };
        let build = self.store.create_build(new).await.unwrap().id;
        if let Some((resource, version)) = input {
            let found = self.store.version_containing(resource, version).await;
            let input = GivenInput {
                name: "in".into(),
                version: found.unwrap().unwrap(),
                first_occurrence: true,
            };
            self.store.give_inputs(build, &[input], &[]).await.unwrap();
        }
        let lease = self.take(build).await;
        self.store.start_build(&lease, &plan()).await.unwrap();
        lease
    }

    async fn take(&self, build: BuildId) -> Lease {
        let minute = Duration::from_secs(60);
        let taken = self.store.take_build(build, "me", "here", minute).await;
        taken.unwrap().unwrap()
    }

    async fn end(&self, lease: &Lease, job: Option<JobId>, leaves: &Leaves<'_>) -> BuildId {
        let build = lease.build;
        let (id, none) = (PlanId::new("1"), None::<&()>);
        self.store.begin_node(lease, &id, Some(1)).await.unwrap();
        if leaves.bytes > 0 {
            self.seal(lease, &format!("out-{build}"), leaves.bytes)
                .await;
            if let Some(job) = job {
                let cache = self
                    .seal(lease, &format!("cache-{build}"), leaves.bytes)
                    .await;
                self.keep_cache(lease, job, &cache).await;
            }
        }
        let saved = self.store.save_outcome(lease, &id, &1, none, now()).await;
        saved.unwrap();
        let finished = self.store.finish_build(lease, leaves.status).await;
        finished.unwrap();
        self.write_log(build, lease.epoch).await;
        build
    }

    pub async fn keep_cache(&self, lease: &Lease, job: JobId, volume: &VolumeId) {
        let cache = TaskCache {
            path: "cache",
            volume,
            ttl: None,
        };
        let caches = [cache];
        let saved = self.store.save_task_caches(lease, job, "task", &caches);
        saved.await.unwrap();
    }

    /// A volume of the build with so many bytes in it.
    pub async fn seal(&self, lease: &Lease, name: &str, bytes: usize) -> VolumeId {
        let id = VolumeId(name.to_owned());
        let handle = Handle::new(format!("h-{name}"));
        let announced = self.store.announce_volume(lease, &id, &handle, "/out");
        announced.await.unwrap();
        let receiving = self.volumes.receive(&id).unwrap();
        fs::write(receiving.dir().join("file"), vec![b'x'; bytes]).unwrap();
        receiving.commit().unwrap();
        id
    }

    async fn write_log(&self, build: BuildId, epoch: i64) {
        let log = self.logs.writer(build, epoch).await.unwrap();
        let event = Event::Log {
            time: now().seconds(),
            origin: Origin::step(&PlanId::new("1")),
            payload: "line\n".repeat(50),
        };
        log.append("1", 1, event).await.unwrap();
        log.close().await.unwrap();
        self.store.log_closed(build).await.unwrap();
    }

    /// Everything that is garbage now goes.
    pub async fn collect(&self) {
        for kind in Kind::ALL {
            self.collector.collect(kind).await.unwrap();
        }
    }

    pub fn logs_on_disk(&self) -> usize {
        count(&self.folder.path().join("logs"))
    }
}

pub fn count(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

/// Makes a plan as large as those of small jobs.
fn plan() -> Plan {
    let leaf = || Plan::new(PlanId::new("1"), PlanNode::Do(Vec::new()));
    Plan::new(
        PlanId::new("0"),
        PlanNode::Do((0..40).map(|_| leaf()).collect()),
    )
}
