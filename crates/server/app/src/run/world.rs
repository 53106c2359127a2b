//! A server for one run: the same parts, a temporary data folder, and no listener but the hub for
//! the steps.

use std::sync::OnceLock;

use airside_config::Config;
use airside_model::{PipelineId, Plan, PlanId, PlanNode, TeamId, VolumeId};
use airside_runtime_local::RUN_FOLDER;
use airside_store::{InstanceVars, MAIN_TEAM, OneOff, SavePipeline, Store};
use anyhow::{Context as _, Result, anyhow, bail};
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::{
    Options,
    cache::{Cache, OpenCache, Setup},
    folders::Folder,
    inputs::{InputContent, InputOptions},
};
use crate::{
    data::DataFolder,
    options::ServerOptions,
    printing::tell,
    server::{Mode, Server},
};

/// External URL in builds of a run. It serves nothing.
const URL: &str = "http://localhost";

pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) team: TeamId,
    data: DataFolder,
    folder: TempDir,
    shutdown: CancellationToken,
    /// Images and task caches of earlier runs.
    cache: Mutex<Option<OpenCache>>,
    pipeline: OnceLock<PipelineId>,
}

impl World {
    pub(crate) async fn open(
        given: &Options,
        secrets: Map<String, Value>,
        cache: Option<Cache>,
    ) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix(RUN_FOLDER)
            .tempdir()
            .context("cannot make a temporary folder; TMPDIR says where")?;
        let mut options = server_options(given, &folder)?;
        options.credentials.set_team_secrets(MAIN_TEAM, secrets);
        let cache = open_cache(cache, &folder, &options).await?;
        let images = cache.as_ref().map(|cache| cache.images.clone());
        let data = DataFolder::open_temporary(folder.path())?.with_images(images);
        let shutdown = CancellationToken::new();
        let server = Server::open(&options, Mode::Up, &data, &[], URL, &shutdown).await?;
        let team = server.store.team(MAIN_TEAM).await?;
        Ok(Self {
            team: team.context("the store has no team main")?.id,
            server,
            data,
            folder,
            shutdown,
            cache: Mutex::new(cache),
            pipeline: OnceLock::new(),
        })
    }

    /// Fails if no step can run: better now than at the first step.
    pub(crate) fn check_workers(&self) -> Result<()> {
        match self.server.orchestrator.obstacle() {
            Some(reason) => bail!("no step can run: {reason}"),
            None => Ok(()),
        }
    }

    /// Stores the pipeline, which builds belong to. It stays paused: only this run starts anything.
    pub(crate) async fn set_pipeline(&self, name: &str, config: &Config) -> Result<PipelineId> {
        let save = SavePipeline {
            team: self.team,
            name: name.to_owned(),
            instance_vars: InstanceVars::default(),
            config: serde_json::to_value(config)?,
            jobs: config.job_rows(),
            resources: config.resource_rows(),
            expected_version: None,
        };
        let id = self.store().save_pipeline(save).await?.pipeline.id;
        self.seed_task_caches(id).await?;
        let _ = self.pipeline.set(id);
        Ok(id)
    }

    /// Gives the pipeline's tasks the caches that an earlier run left. A build that does nothing
    /// owns them, as every volume here has a build.
    async fn seed_task_caches(&self, pipeline: PipelineId) -> Result<()> {
        let lent = match self.cache.lock().as_mut() {
            Some(cache) => cache.lend(&self.server.volumes)?,
            None => Vec::new(),
        };
        if lent.is_empty() {
            return Ok(());
        }
        let nothing = Plan::new(PlanId::new("caches"), PlanNode::Do(Vec::new()));
        let owner = OneOff {
            team: self.team,
            pipeline: Some(pipeline),
            created_by: None,
            plan: &nothing,
        };
        let build = self.server.engine.start(owner).await?.id;
        for cache in &lent {
            if let Some(job) = self.store().job(pipeline, &cache.job).await? {
                self.store().seed_task_cache(build, job.id, cache).await?;
            }
        }
        Ok(())
    }

    /// Keeps images and task caches for later runs. What goes wrong is only printed: the builds are
    /// over.
    async fn keep_caches(&self) {
        let Some(cache) = self.cache.lock().take() else {
            return;
        };
        let left = match self.pipeline.get() {
            Some(pipeline) => self.store().task_caches(*pipeline).await,
            None => Ok(Vec::new()),
        };
        let volumes = self.server.volumes.clone();
        let kept = airside_tasks::blocking("cache of a run", move || -> Result<()> {
            cache.keep(&left?, &volumes);
            cache.shrink()
        });
        if let Err(error) = kept.await.map_err(anyhow::Error::from).flatten() {
            tell(&format!("airside: the cache is not in order: {error:#}"));
        }
    }

    /// Copies an input into the world; returns the number under which plans know it.
    pub(crate) async fn copy_input(
        &self,
        folder: &Folder,
        config: &Config,
        options: &InputOptions,
    ) -> Result<i64> {
        let volume = VolumeId(format!("a-{:032x}", rand::random::<u128>()));
        let artifact = self.store().announce_artifact(self.team, &volume).await?;
        let volumes = self.server.volumes.clone();
        let (asked, config, options) = (folder.clone(), config.clone(), options.clone());
        let copied = airside_tasks::blocking("copy of an input", move || -> Result<()> {
            let (content, problems) = InputContent::read(&asked, &config, &options);
            for problem in problems {
                tell(&format!("airside: --input {}: {problem}", asked.resource));
            }
            let receiving = volumes.receive(&volume)?;
            content.copy_to(receiving.dir())?;
            Ok(receiving.commit()?)
        });
        copied
            .await?
            .with_context(|| format!("cannot copy {}", folder.path.display()))?;
        Ok(artifact.id.0)
    }

    pub(crate) fn store(&self) -> &Store {
        &self.server.store
    }

    /// Ends what still runs and removes all of it. If something cannot be removed the folder stays:
    /// a container may have mounted parts of the machine beneath it.
    pub(crate) async fn close(self) -> Result<()> {
        self.server.engine.shut_down().await;
        let cleared = self.server.clear_away().await;
        self.shutdown.cancel();
        if let Err(error) = cleared {
            let kept = self.folder.keep();
            return Err(anyhow!(error).context(format!(
                "not everything could be removed; what is left is in {}",
                kept.display()
            )));
        }
        self.keep_caches().await;
        self.server.leave(&self.data).await;
        // Steps made what is in it, however deep.
        let folder = self.folder.keep();
        airside_archive::remove(&folder)
            .with_context(|| format!("cannot remove {}", folder.display()))
    }
}

/// Returns the options of a run's server: those that were given, and nothing kept after a step but
/// for --keep.
fn server_options(given: &Options, folder: &TempDir) -> Result<ServerOptions> {
    let mut options = ServerOptions::of_args([given.keep.keep_failed(), "--keep-one-off=0s"])?;
    options.database.data = folder.path().to_owned();
    options.workers.local = given.workers.clone();
    options.isolation = given.isolation.clone();
    Ok(options)
}

/// Opens the cache beside the run's own folder.
async fn open_cache(
    cache: Option<Cache>,
    folder: &TempDir,
    options: &ServerOptions,
) -> Result<Option<OpenCache>> {
    let Some(cache) = cache else {
        return Ok(None);
    };
    let isolation = options.isolation.choices();
    let setup = Setup {
        mirrors: options.workers.registries().mirrors,
        fullest: options.collecting.marks()?.high,
        ids: isolation.ids,
        metadata_access: isolation.metadata_access,
    };
    let temporary = folder.path().to_owned();
    airside_tasks::blocking("cache of a run", move || cache.open(&temporary, setup)).await?
}
