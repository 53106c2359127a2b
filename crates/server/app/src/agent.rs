//! `airside agent`: this machine as a worker of a server elsewhere.

use std::{
    ffi::OsString,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use airside_model::{InstallationId, WorkerName};
use airside_protocol::AgentToken;
use airside_resource_types::Mirror;
use airside_rootfs::Images;
use airside_runtime_local::{Carriage, LocalOptions, LocalRuntime, Rootless};
use airside_runtime_remote::{AgentOptions, HubAddress};
use airside_volumes::Volumes;
use anyhow::{Context, Result, bail};
use clap::Args;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    data::DataFolder,
    options::{IsolationArgs, Observing, duration, find_shim},
    server,
    settings::SettingVariables,
    workers::{program, pullers},
};

pub const EXAMPLES: &str = "\
Examples:
  # On a machine that is logged in with fly: create a token for worker `gpu-1`
  airside worker -t ci token --name gpu-1 --tag gpu --output token

  # On the worker's machine: join the server with that token
  airside agent --hub ci.example.com:7000 --token token";

#[derive(Args)]
pub struct Options {
    /// Address of the server's hub, for example ci.example.com:7000
    #[arg(long, value_name = "HOST:PORT")]
    hub: HubAddress,

    /// File with the token that `airside worker token` made; read again for every connection
    #[arg(long, value_name = "FILE")]
    token: PathBuf,

    /// Name of the worker, which must be the one that the token is for [default: the token's]
    #[arg(long, value_name = "WORKER")]
    name: Option<String>,

    /// Tag to serve, of those that the token has. Can be repeated [default: all tags of the token]
    #[arg(id = "tag", long, value_name = "TAG")]
    tags: Vec<String>,

    /// Team that the token must be for; the agent refuses to start with another one
    #[arg(long, value_name = "TEAM")]
    team: Option<String>,

    /// Directory for containers and images; created if missing
    #[arg(long, value_name = "DIR", default_value = "/var/lib/airside-agent")]
    state: PathBuf,

    /// File of the shim, a static program that is the first process of every step [default:
    /// airside-shim beside this program]
    #[arg(long, value_name = "FILE")]
    shim: Option<PathBuf>,

    /// Mirror to pull a registry's images from, for example docker.io=mirror.example.com:5000; on
    /// loopback it is reached without TLS. Can be repeated
    #[arg(id = "registry-mirror", long, value_name = "REGISTRY=HOST")]
    registry_mirrors: Vec<Mirror>,

    /// Time after which images that no step uses are removed from this machine
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "168h")]
    keep_unused_images: Duration,

    #[command(flatten)]
    isolation: IsolationArgs,

    #[command(flatten)]
    observing: Observing,
}

/// Enters the user namespace that an ordinary user's steps need. Call it before any thread exists.
/// Fails where it is not possible: an agent without it is of no use.
pub fn enter() -> Result<()> {
    match Rootless::prepare() {
        Ok(Some(rootless)) => Ok(rootless.enter()?),
        Ok(None) => Ok(()),
        Err(obstacle) => bail!("no step can run on this machine: {obstacle}"),
    }
}

pub fn run(options: &Options, variables: &SettingVariables) -> Result<()> {
    server::run_until_signal(&options.observing, async |shutdown| {
        variables.warn_of_unknown();
        serve(options, shutdown).await
    })
}

async fn serve(options: &Options, shutdown: CancellationToken) -> Result<()> {
    let token = airside_runtime_remote::read_token(&options.token, options.name.as_deref())?;
    warn_if_readable(&options.token);
    let state = DataFolder::open(&options.state)
        .context("--state must name a folder that only this agent uses")?;
    let opened = match OpenAgent::open(options, &token, &state).await {
        Ok(opened) => opened,
        Err(error) => {
            state.discard_new();
            return Err(error);
        }
    };
    let OpenAgent {
        installation,
        runtime,
        root,
    } = opened;
    let (hub, folder) = (&options.hub, options.state.display());
    info!(worker = token.name, %hub, state = %folder, "agent started");
    let agent = AgentOptions {
        hub: options.hub.clone(),
        token_file: options.token.clone(),
        name: options.name.clone(),
        team: options.team.clone(),
        tags: options.tags.clone(),
        installation: installation.clone(),
        hub_socket: hub_socket(&state),
        keep_images: options.keep_unused_images,
    };
    let served = airside_runtime_remote::run(agent, Arc::new(runtime), shutdown).await;
    let is_idle = LocalRuntime::leave_if_idle(&root, &installation);
    served?;
    if is_idle {
        info!("agent stopped");
    } else {
        info!("agent stopped; running steps go on and are followed again at the next start");
    }
    Ok(())
}

fn hub_socket(state: &DataFolder) -> PathBuf {
    state.join("hub").join("socket")
}

/// An agent that can serve: whatever may fail at its start has not failed.
struct OpenAgent {
    installation: InstallationId,
    runtime: LocalRuntime,
    root: PathBuf,
}

impl OpenAgent {
    async fn open(options: &Options, token: &AgentToken, state: &DataFolder) -> Result<Self> {
        state.belongs_to(&token.pin)?;
        let installation = state.installation()?;
        let root = state.join("runtime");
        let isolation = options.isolation.choices();
        let local = LocalOptions {
            root: root.clone(),
            worker: WorkerName::new(&token.name),
            installation: installation.clone(),
            shim: find_shim(options.shim.as_deref())?,
            helper: vec![program()?.into_os_string(), OsString::from("rt")],
            volumes: Volumes::open(&state.join("volumes"))?,
            images: Images::open(
                &state.join("images"),
                airside_rootfs::Options {
                    mirrors: options.registry_mirrors.iter().cloned().collect(),
                    ..airside_rootfs::Options::new(pullers(isolation.metadata_access)?)
                },
            )?,
            hub_socket: hub_socket(state),
            isolation,
            carriage: Carriage::Streamed,
            temporary: None,
        };
        Ok(Self {
            installation,
            runtime: LocalRuntime::open(local).await?,
            root,
        })
    }
}

fn warn_if_readable(token: &Path) {
    let mode = std::fs::metadata(token).map(|found| found.permissions().mode());
    if mode.is_ok_and(|mode| mode & 0o007 != 0) {
        let file = token.display();
        warn!(%file, "token is readable by other users of this machine; run `chmod 600` on it");
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    #[command(no_binary_name = true)]
    struct Typed {
        #[command(flatten)]
        options: Options,
    }

    #[tokio::test]
    async fn a_failed_start_leaves_no_new_state() {
        let folder = tempfile::tempdir().unwrap();
        let token = AgentToken {
            name: "far".to_owned(),
            pin: "0".repeat(64),
            secret: "1".repeat(64),
        };
        let file = folder.path().join("token");
        std::fs::write(&file, token.to_string()).unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let typed = Typed::parse_from([
            "--hub=127.0.0.1:1".to_owned(),
            format!("--token={}", path("token")),
            format!("--state={}", path("new/state")),
            format!("--shim={}", path("no-such-shim")),
        ]);
        let error = serve(&typed.options, CancellationToken::new()).await;
        let words = format!("{:#}", error.unwrap_err());
        assert!(words.contains("no-such-shim"), "{words}");
        let left = std::fs::read_dir(folder.path()).unwrap();
        let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["token"]);
    }
}
