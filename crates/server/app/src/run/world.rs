//! A server for one run: the same parts, a temporary data folder, and no listener but the hub for
//! the steps.

use airside_config::Config;
use airside_model::{PipelineId, TeamId, VolumeId};
use airside_runtime_local::RUN_FOLDER;
use airside_store::{InstanceVars, MAIN_TEAM, SavePipeline, Store};
use anyhow::{Context as _, Result, anyhow};
use serde_json::{Map, Value};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::{
    Options,
    folders::Folder,
    inputs::{InputContent, InputOptions},
};
use crate::{
    data::DataFolder,
    options::ServerOptions,
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
}

impl World {
    pub(crate) async fn open(given: &Options, secrets: Map<String, Value>) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix(RUN_FOLDER)
            .tempdir()
            .context("cannot make a temporary folder; TMPDIR says where")?;
        let mut options = server_options(given, &folder)?;
        options.credentials.set_team_secrets(MAIN_TEAM, secrets);
        let data = DataFolder::open_temporary(folder.path())?;
        let shutdown = CancellationToken::new();
        let server = Server::open(&options, Mode::Up, &data, &[], URL, &shutdown).await?;
        let team = server.store.team(MAIN_TEAM).await?;
        Ok(Self {
            team: team.context("the store has no team main")?.id,
            server,
            data,
            folder,
            shutdown,
        })
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
        Ok(self.store().save_pipeline(save).await?.pipeline.id)
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
                eprintln!("airside: --input {}: {problem}", asked.resource);
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
    options.workers = given.workers.clone();
    options.isolation = given.isolation.clone();
    Ok(options)
}
