//! A store, a cluster, and the control of one team between them. There is no engine: a test starts
//! and ends builds itself.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use airside_control::{Control, ControlParts, ObjectBuilds};
use airside_model::{
    BuildId, BuildStatus, JobId, PipelineId, Plan, PlanId, PlanNode, TeamId, facts::SetThrough,
};
use airside_setting::{PipelineSetter, SetPipeline, SetPipelineError};
use airside_store::{
    Build, InstanceVars, NewBuild, PipelineSummary, RequestedBuild, Saved, Store, Team,
    testing::TestDatabase,
};
use airside_telemetry::metrics::Metrics;
use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::cluster::{FakeCluster, NAMESPACE};

/// Timeout of anything that a test waits for, however busy the machine is.
const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct Stage {
    pub(crate) cluster: FakeCluster,
    pub(crate) store: Store,
    pub(crate) team: Team,
    running: Option<RunningControl>,
    settings: String,
    database: TestDatabase,
}

struct RunningControl {
    control: Control,
    task: JoinHandle<()>,
}

/// Builds as the engine makes them, without an engine.
struct StoreBuilds(Store);

#[async_trait]
impl ObjectBuilds for StoreBuilds {
    async fn trigger(
        &self,
        job: JobId,
        created_by: &str,
        uid: &str,
    ) -> Result<RequestedBuild, airside_store::Error> {
        let new = NewBuild {
            job,
            created_by: Some(created_by),
        };
        self.0.create_requested_build(new, uid, |_| ()).await
    }

    async fn rerun(
        &self,
        of: &Build,
        job: JobId,
        created_by: &str,
        uid: &str,
    ) -> Result<RequestedBuild, airside_store::Error> {
        self.0
            .create_requested_rerun(of, job, created_by, uid)
            .await
    }

    async fn abort(&self, build: BuildId) -> bool {
        finish(&self.0, build, BuildStatus::Aborted).await;
        true
    }
}

async fn finish(store: &Store, build: BuildId, status: BuildStatus) {
    let taken = store
        .take_build(build, "me", "here", Duration::from_secs(60))
        .await;
    let lease = taken.unwrap().unwrap();
    store.finish_build(&lease, status).await.unwrap();
}

impl Stage {
    /// Starts a server whose control file has these settings for its team.
    pub(crate) async fn start(settings: &str) -> Self {
        let mut stage = Self::stopped(settings).await;
        stage.run().await;
        stage
    }

    pub(crate) async fn stopped(settings: &str) -> Self {
        let database = TestDatabase::sqlite();
        let store = database.open().await;
        Self {
            cluster: FakeCluster::start(),
            team: store.ensure_main_team(&json!({})).await.unwrap(),
            store,
            running: None,
            settings: settings.to_owned(),
            database,
        }
    }

    pub(crate) async fn run(&mut self) {
        let folder = self.database.dir();
        let kubeconfig = json!({
            "clusters": [{"name": "c", "cluster": {"server": format!("http://{}", self.cluster.address)}}],
            "users": [{"name": "c", "user": {"token": "t"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
            "current-context": "c",
        });
        let file = folder.join("control.conf");
        std::fs::write(&file, kubeconfig.to_string()).unwrap();
        let control_file = self.write_control(&file);
        let control = Control::open(&control_file, &self.store, &Metrics::default())
            .await
            .unwrap();
        let parts = ControlParts {
            setter: PipelineSetter::new(self.store.clone()).with_judge(Arc::new(control.clone())),
            builds: Arc::new(StoreBuilds(self.store.clone())),
            external_url: "https://ci.example.com".to_owned(),
            deletion_grace: Duration::from_millis(500),
        };
        let running = control.clone();
        let task = tokio::spawn(async move { running.run(parts, CancellationToken::new()).await });
        self.running = Some(RunningControl { control, task });
    }

    /// Writes the control file of this stage's settings.
    fn write_control(&self, kubeconfig: &Path) -> PathBuf {
        let team = format!(
            "  - team: main\n    namespace: {NAMESPACE}\n{}",
            self.settings
        );
        self.write_control_of(kubeconfig, &team)
    }

    fn write_control_of(&self, kubeconfig: &Path, teams: &str) -> PathBuf {
        let text = format!(
            "clusters:\n- name: c\n  kubeconfig: {}\n  qps: 10000\n  teams:{}{teams}",
            kubeconfig.display(),
            if teams.is_empty() { " []\n" } else { "\n" },
        );
        let file = self.database.dir().join("control.yml");
        // A server that reads the file meanwhile sees all of it.
        let new = self.database.dir().join("control.new");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(&new, &file).unwrap();
        file
    }

    /// Gives the running server a control file with these teams.
    pub(crate) fn rewrite_control(&self, teams: &str) {
        self.write_control_of(&self.database.dir().join("control.conf"), teams);
    }

    /// Ends the server at whatever it does.
    pub(crate) async fn kill(&mut self) {
        let running = self.running.take().unwrap();
        running.task.abort();
        let _ = running.task.await;
    }

    /// Sets a pipeline as `fly` does.
    pub(crate) async fn fly(&self, name: &str, config: &Value) -> Result<Saved, SetPipelineError> {
        let judge = Arc::new(self.running.as_ref().unwrap().control.clone());
        let setter = PipelineSetter::new(self.store.clone()).with_judge(judge);
        let loaded = airside_config::load(&config.to_string()).unwrap();
        let set = SetPipeline {
            team: self.team.id,
            team_name: &self.team.name,
            name,
            instance_vars: &InstanceVars::default(),
            config: &loaded.config,
            through: SetThrough::Fly,
            by: "local:ann",
            expected_version: None,
            parent: None,
            object: None,
        };
        setter.set(set).await
    }

    /// Saves a pipeline of another team, which no cluster has a word about.
    pub(crate) async fn save_for(&self, team: TeamId, name: &str) -> PipelineId {
        let loaded = airside_config::load(&config("true").to_string()).unwrap();
        let vars = InstanceVars::default();
        let save = airside_setting::save_request(team, name, &vars, &loaded.config, None).unwrap();
        self.store.save_pipeline(save).await.unwrap().pipeline.id
    }

    /// Creates the object of a pipeline, and returns once the pipeline is set.
    pub(crate) async fn pipeline(&self, name: &str, spec: &Value) -> PipelineSummary {
        self.cluster.create("pipelines", object(name, spec));
        self.until_condition(name, "Ready", "True").await;
        self.find(name).await.unwrap()
    }

    pub(crate) async fn find(&self, name: &str) -> Option<PipelineSummary> {
        let vars = InstanceVars::default();
        let found = self.store.pipeline_summary(self.team.id, name, &vars).await;
        found.unwrap()
    }

    pub(crate) async fn job(&self, pipeline: &str, job: &str) -> JobId {
        let pipeline = self.find(pipeline).await.unwrap().id;
        self.store.job(pipeline, job).await.unwrap().unwrap().id
    }

    /// Creates a build as `fly trigger-job` does.
    pub(crate) async fn trigger(&self, job: JobId) -> BuildId {
        let new = NewBuild {
            job,
            created_by: Some("local:ann"),
        };
        self.store.create_build(new).await.unwrap().id
    }

    /// Starts a build as the engine does.
    pub(crate) async fn begin(&self, build: BuildId) {
        let hour = Duration::from_secs(3600);
        let lease = self.store.take_build(build, "me", "here", hour).await;
        let plan = Plan::new(PlanId::new("1"), PlanNode::Do(Vec::new()));
        self.store
            .start_build(&lease.unwrap().unwrap(), &plan)
            .await
            .unwrap();
    }

    pub(crate) async fn finish(&self, build: BuildId, status: BuildStatus) {
        finish(&self.store, build, status).await;
    }

    /// Waits until the object of a pipeline has a condition for its newest generation.
    pub(crate) async fn until_condition(&self, name: &str, type_: &str, status: &str) {
        self.until(&format!("{name} has {type_}={status}"), async || {
            let object = self.cluster.get("pipelines", name).unwrap_or_default();
            let is_new = object["status"]["observedGeneration"] == object["metadata"]["generation"];
            is_new && condition(&object, type_)["status"] == status
        })
        .await;
    }

    pub(crate) async fn until(&self, what: &str, mut holds: impl AsyncFnMut() -> bool) {
        let waiting = async {
            while !holds().await {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if tokio::time::timeout(WAIT_TIMEOUT, waiting).await.is_err() {
            let kinds = ["pipelines", "pipelinejobs", "pipelinebuilds"];
            let objects: Vec<Value> = kinds
                .iter()
                .flat_map(|kind| self.cluster.list(kind))
                .collect();
            panic!("it never came to this: {what}\n{:#}", json!(objects));
        }
    }

    /// Waits until no request was made for a second, so that the control has nothing to do.
    pub(crate) async fn until_quiet(&self) {
        let mut before = usize::MAX;
        loop {
            let now = ["pipelines", "pipelinejobs", "pipelinebuilds"]
                .map(|kind| self.cluster.writes(kind));
            let now = now.iter().sum();
            if now == before {
                return;
            }
            before = now;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

/// Returns a condition of an object.
pub(crate) fn condition(object: &Value, type_: &str) -> Value {
    let conditions = object["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions
        .find(|one| one["type"] == type_)
        .cloned()
        .unwrap_or_default()
}

pub(crate) fn object(name: &str, spec: &Value) -> Value {
    json!({"metadata": {"name": name}, "spec": spec})
}

/// Returns the object that asks for a build of a job.
pub(crate) fn request(pipeline: &str, job: &str) -> Value {
    json!({"metadata": {"generateName": "asked-"}, "spec": {"pipeline": pipeline, "job": job}})
}

/// Returns a configuration of one job `j` that runs a task.
pub(crate) fn config(script: &str) -> Value {
    json!({"jobs": [{"name": "j", "plan": [{"task": "t", "config": {
        "platform": "linux", "image_resource": {"type": "host"}, "run": {"path": "sh", "args": ["-c", script]},
    }}]}]})
}
