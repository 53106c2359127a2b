//! A server's parts around the runtime under test.

use std::{collections::BTreeMap, net::IpAddr, path::PathBuf, sync::Arc, time::Duration};

use airside_hub::{Hub, HubIdentity, Parts, Proofs, Unproven};
use airside_logs::Logs;
use airside_model::{Handle, InstallationId, JobId};
use airside_orchestrator::{Orchestrator, StepLimits, WorkerEntry, Workers};
use airside_runtime::{AnyRuntime, Image, PlacementSpec};
use airside_store::{Container, SaveJob, SavePipeline, Sealer, Store};
use airside_telemetry::metrics::Metrics;
use airside_volumes::Volumes;
use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::{CauseName, patience::wait_until};

/// Long enough for a step that listens, however busy the machine is.
const LONG_GRACE: Duration = Duration::from_secs(60);

/// A place where a runtime works.
#[async_trait]
pub trait Site: Send + Sync + 'static {
    /// A runtime over whatever is there, as after a start of the server.
    async fn open(&self, ground: &Ground, installation: &InstallationId) -> AnyRuntime;

    /// Returns the checks of proofs of claims from here.
    fn proofs(&self) -> Arc<dyn Proofs>;

    /// Hears of the hub once it listens, before any rule is tried.
    async fn meet(&self, _: &Hub, _: &Ground) {}

    /// Returns the address at which the hub must listen for steps to reach it.
    fn hub_ip(&self) -> IpAddr;

    /// The socket at which it must listen too, where steps reach it that way.
    fn hub_socket(&self, _: &Ground) -> Option<PathBuf> {
        None
    }

    /// An image with a shell and the usual small programs.
    fn image(&self) -> Image;

    /// An image that does not exist, and what messages must call it.
    fn missing_image(&self) -> (Image, String);

    /// Returns the reason if a cause cannot arise here, or nothing here can bring it about.
    fn cannot_arise(&self, cause: CauseName) -> Option<&'static str>;

    /// Changes a step so that the cause arises before its process starts.
    fn provoke(&self, _: CauseName, _: &mut PlacementSpec) {}

    /// Ends a container by the cause.
    async fn end_by(&self, cause: CauseName, _: &Handle) {
        panic!("this site ends no container by {cause:?}");
    }

    /// The labels a placement carries, where the runtime shows them to people.
    async fn labels(&self, handle: &Handle) -> Option<BTreeMap<String, String>>;

    /// Removes what an installation keeps here even when nothing of it runs.
    fn leave(&self, installation: &InstallationId);
}

/// Proofs where the token is enough.
pub struct NoProofs;

#[async_trait]
impl Proofs for NoProofs {
    async fn verify(&self, _: &Container, _: Option<&str>) -> Result<(), Unproven> {
        Ok(())
    }
}

/// The parts that outlive a runtime.
pub struct Ground {
    pub dir: TempDir,
    pub store: Store,
    pub volumes: Volumes,
    pub logs: Logs,
    pub installation: InstallationId,
}

/// A site and all that a rule needs there.
pub struct Bench {
    pub site: Arc<dyn Site>,
    pub ground: Ground,
    pub hub: Hub,
    pub(crate) job: JobId,
    runtime: Mutex<AnyRuntime>,
    /// Time that a step has to end once it is told to.
    stop_grace: Mutex<Duration>,
    shutdown: CancellationToken,
}

impl Bench {
    pub async fn new(site: Arc<dyn Site>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let sealer = Sealer::new(&rand::random::<[u8; 32]>()).unwrap();
        let store = Store::open(&dir.path().join("airside.db"), sealer)
            .await
            .unwrap();
        let installation = store.installation().await.unwrap();
        let volumes = Volumes::open(&dir.path().join("volumes")).unwrap();
        let logs = Logs::open(&dir.path().join("logs")).unwrap();
        let job = job(&store).await;
        let ground = Ground {
            store,
            volumes,
            logs,
            installation,
            dir,
        };
        let runtime = site.open(&ground, &ground.installation).await;
        let shutdown = CancellationToken::new();
        let parts = Parts {
            store: ground.store.clone(),
            volumes: ground.volumes.clone(),
            proofs: site.proofs(),
        };
        let identity = HubIdentity::load_or_create(&ground.dir.path().join("hub-key.pem")).unwrap();
        let address = (site.hub_ip(), 0).into();
        let hub = Hub::start(address, &identity, parts, shutdown.clone())
            .await
            .unwrap();
        if let Some(socket) = site.hub_socket(&ground) {
            hub.listen_at(&socket).unwrap();
        }
        site.meet(&hub, &ground).await;
        Self {
            site,
            ground,
            hub,
            job,
            runtime: Mutex::new(runtime),
            stop_grace: Mutex::new(LONG_GRACE),
            shutdown,
        }
    }

    /// Shortens the time for steps that do not end by themselves.
    pub(crate) fn stops_soon(&self) {
        *self.stop_grace.lock() = Duration::from_secs(1);
    }

    pub fn runtime(&self) -> AnyRuntime {
        self.runtime.lock().clone()
    }

    /// Drops the runtime and makes it anew over what is there.
    pub async fn reopen(&self) {
        let fresh = self
            .site
            .open(&self.ground, &self.ground.installation)
            .await;
        *self.runtime.lock() = fresh;
    }

    pub fn orchestrator(&self) -> Orchestrator {
        let entry = WorkerEntry {
            runtime: self.runtime(),
            team: None,
            tags: Vec::new(),
        };
        Orchestrator::new(
            self.ground.store.clone(),
            self.hub.clone(),
            self.ground.volumes.clone(),
            Workers::new(vec![entry]),
            self.ground.installation.clone(),
            StepLimits {
                stop_grace: *self.stop_grace.lock(),
                ..StepLimits::default()
            },
            Metrics::default(),
        )
    }

    /// Removes what the rule left, and waits until nothing is there.
    pub async fn clear(self) {
        let runtime = self.runtime();
        for listed in runtime.list().await.unwrap() {
            runtime.destroy(&listed.handle).await.unwrap();
        }
        self.wait_until_empty().await;
    }

    pub(crate) async fn wait_until_empty(&self) {
        let runtime = self.runtime();
        let empty = async || runtime.list().await.unwrap().is_empty();
        wait_until("nothing is left on the worker", empty).await;
    }
}

impl Drop for Bench {
    /// Also after a failure.
    fn drop(&mut self) {
        self.site.leave(&self.ground.installation);
        self.shutdown.cancel();
    }
}

async fn job(store: &Store) -> JobId {
    let team = store.ensure_main_team(&json!({})).await.unwrap();
    let save = SavePipeline {
        team: team.id,
        instance_vars: Default::default(),
        name: "conformance".to_owned(),
        config: json!({}),
        jobs: vec![SaveJob::named("job")],
        resources: Vec::new(),
        expected_version: None,
    };
    let saved = store.save_pipeline(save).await.unwrap();
    store
        .job(saved.pipeline.id, "job")
        .await
        .unwrap()
        .expect("it was just saved")
        .id
}
