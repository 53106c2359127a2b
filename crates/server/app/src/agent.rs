//! `airside agent`: this machine as a worker of a server elsewhere.

use std::{
    ffi::OsString,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use airside_model::WorkerName;
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
    workers::{program, pullers},
};

pub const EXAMPLES: &str = "\
Examples:
  airside worker -t ci token --name gpu-1 --tag gpu > token
      on a machine that is logged in with fly: lets a machine join as worker `gpu-1`, for steps with the tag `gpu`
  airside agent --hub ci.example.com:7000 --token token
      on that machine: joins
";

pub const NOTE: &str = "\
The agent only dials out, to the hub (`--hub-listen` of the server); nothing needs to reach this machine. Its steps are
containers, as those of `airside up`, and need the same: root, or a control group of one's own. Stopped or killed, it
leaves its steps running and finds them again when it is started. docs/agents.md has more.";

#[derive(Args)]
pub struct Options {
    /// The server's hub: `ci.example.com:7000`
    #[arg(long, value_name = "HOST:PORT")]
    hub: HubAddress,

    /// File with the token that `airside worker token` made; read again for every connection
    #[arg(long, value_name = "FILE")]
    token: PathBuf,

    /// The worker that this machine is [default: the one that the token is for; there is no other]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Serve only this tag of the token's. Can be given more than once [default: all of them]
    #[arg(id = "tag", long, value_name = "TAG")]
    tags: Vec<String>,

    /// Start only if the token is for this team
    #[arg(long, value_name = "TEAM")]
    team: Option<String>,

    /// Folder for containers and images; made if missing
    #[arg(long, value_name = "DIR", default_value = "/var/lib/airside-agent")]
    state: PathBuf,

    /// The shim: a static binary that becomes the first process of every step [default: airside-shim beside this
    /// program]
    #[arg(long, value_name = "FILE")]
    shim: Option<PathBuf>,

    /// Pull what steps need from another place than its registry, as `docker.io=mirror.example.com:5000`; on loopback
    /// without TLS. Can be given more than once
    #[arg(id = "registry-mirror", long, value_name = "REGISTRY=PLACE")]
    registry_mirrors: Vec<Mirror>,

    /// Remove images that no step used for so long
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "168h")]
    keep_unused_images: Duration,

    #[command(flatten)]
    isolation: IsolationArgs,

    #[command(flatten)]
    observing: Observing,
}

/// Steps need a world of their own, which must be entered before any thread exists. A worker without is of no use.
pub fn enter() -> Result<()> {
    match Rootless::prepare() {
        Ok(Some(rootless)) => Ok(rootless.enter()?),
        Ok(None) => Ok(()),
        Err(obstacle) => bail!("no step can run on this machine: {obstacle}"),
    }
}

pub fn run(options: &Options) -> Result<()> {
    server::until_told(&options.observing, async |shutdown| {
        serve(options, shutdown).await
    })
}

async fn serve(options: &Options, shutdown: CancellationToken) -> Result<()> {
    let token = airside_runtime_remote::read_token(&options.token, options.name.as_deref())?;
    warn_if_readable(&options.token);
    let state = DataFolder::open(&options.state)
        .context("--state must name a folder that only this agent uses")?;
    state.belongs_to(&token.pin)?;
    let installation = state.installation()?;
    let hub_socket = state.join("hub").join("socket");
    let root = state.join("runtime");
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
                ..airside_rootfs::Options::new(pullers()?)
            },
        )?,
        hub_socket: hub_socket.clone(),
        isolation: options.isolation.choices(),
        carriage: Carriage::Streamed,
        temporary: None,
    };
    let runtime = LocalRuntime::open(local).await?;
    info!(worker = token.name, hub = %options.hub, state = %options.state.display(), "agent started");
    let agent = AgentOptions {
        hub: options.hub.clone(),
        token_file: options.token.clone(),
        name: options.name.clone(),
        team: options.team.clone(),
        tags: options.tags.clone(),
        installation: installation.clone(),
        hub_socket,
        keep_images: options.keep_unused_images,
    };
    let served = airside_runtime_remote::run(agent, Arc::new(runtime), shutdown).await;
    LocalRuntime::leave_if_idle(&root, &installation);
    served?;
    info!("agent stopped; running steps go on and are followed again at the next start");
    Ok(())
}

fn warn_if_readable(token: &Path) {
    let mode = std::fs::metadata(token).map(|found| found.permissions().mode());
    if mode.is_ok_and(|mode| mode & 0o007 != 0) {
        warn!(file = %token.display(), "token file readable by every user of this machine; `chmod 600` it");
    }
}
