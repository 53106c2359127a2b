//! `airside up`: the whole of Airside in one process.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
};

use airside_api::{ApiState, Builds, OneOffBuild, TriggerError};
use airside_auth::{Auth, LocalUser};
use airside_engine::Engine;
use airside_hub::{Hub, Identity};
use airside_logs::Logs;
use airside_metrics::Metrics;
use airside_model::{BuildId, JobId};
use airside_orchestrator::{Orchestrator, Patience, Workers};
use airside_store::{Build, DatabaseUrl, OneOff, Sealer, Store};
use airside_volumes::Volumes;
use anyhow::{Context, Result, bail};
use async_trait::async_trait;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::{
    data::DataFolder,
    keeping::KeepingOptions,
    logging::{self, LogFormat},
    proofs::WorkerProofs,
    workers,
};

/// Until when a login lasts.
const SESSION: std::time::Duration = std::time::Duration::from_secs(24 * 3600);

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Folder for the database, logs, volumes and keys; made if missing
    #[arg(
        long,
        value_name = "DIR",
        env = "AIRSIDE_DATA",
        default_value = "airside-data"
    )]
    data: PathBuf,

    /// The database: `postgres://user:password@host:port/name` [default: SQLite, one file in the data
    /// folder]
    #[arg(
        long,
        value_name = "URL",
        env = "AIRSIDE_DATABASE_URL",
        hide_env_values = true
    )]
    database_url: Option<DatabaseUrl>,

    /// File with the 32 bytes (or 64 hex digits) that seal configurations, members, tokens and plans
    /// in the database [default: encryption-key in the data folder, made on the first start]
    #[arg(long, value_name = "FILE", env = "AIRSIDE_ENCRYPTION_KEY_FILE")]
    encryption_key_file: Option<PathBuf>,

    /// File with the key used until now; everything is sealed anew with the other one at the start
    #[arg(long, value_name = "FILE", env = "AIRSIDE_OLD_ENCRYPTION_KEY_FILE")]
    old_encryption_key_file: Option<PathBuf>,

    /// Where the API listens, for fly and browsers
    #[arg(
        long,
        value_name = "ADDR",
        env = "AIRSIDE_LISTEN",
        default_value = "127.0.0.1:8080"
    )]
    listen: SocketAddr,

    /// The URL under which users reach this server [default: http:// and the listen address]
    #[arg(long, value_name = "URL", env = "AIRSIDE_EXTERNAL_URL")]
    external_url: Option<String>,

    /// A local user; may be given several times. The first owns team main. The password may be a
    /// bcrypt hash. Without any, user `admin` gets a password made up on the first start
    #[arg(
        long = "user",
        value_name = "NAME:PASSWORD",
        env = "AIRSIDE_USERS",
        value_delimiter = ','
    )]
    users: Vec<LocalUser>,

    /// Kubernetes workers: a YAML file with a list of targets (see docs/kubernetes.md)
    #[arg(long, value_name = "FILE", env = "AIRSIDE_TARGETS")]
    targets: Option<PathBuf>,

    /// Where the hub listens, for shims [default: all addresses with --targets, else loopback; a free
    /// port on the first start, the same one ever after]
    #[arg(long, value_name = "ADDR", env = "AIRSIDE_HUB_LISTEN")]
    hub_listen: Option<SocketAddr>,

    /// The shim: a static binary that becomes the first process of every step [default: airside-shim
    /// beside this program]
    #[arg(long, value_name = "FILE", env = "AIRSIDE_SHIM")]
    shim: Option<PathBuf>,

    /// Where Prometheus finds /metrics; not served unless given
    #[arg(long, value_name = "ADDR", env = "AIRSIDE_METRICS_LISTEN")]
    metrics_listen: Option<SocketAddr>,

    /// Folder with the programs that `fly sync` downloads, named fly-<platform>-<arch>
    #[arg(long, value_name = "DIR", env = "AIRSIDE_CLI_DIR")]
    cli_dir: Option<PathBuf>,

    #[command(flatten)]
    keeping: KeepingOptions,

    /// How to write the server's own log to standard error
    #[arg(long, value_enum, default_value_t, env = "AIRSIDE_LOG_FORMAT")]
    log_format: LogFormat,
}

pub(crate) fn run(options: Options) -> Result<()> {
    let log_level = logging::start(options.log_format);
    rustls::crypto::aws_lc_rs::default_provider()
        .install_default()
        .map_err(|_| anyhow::anyhow!("two TLS providers"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let result = runtime.block_on(up(options, log_level));
    // What still blocks (a name look-up, say) must not hold up the exit.
    runtime.shutdown_background();
    result
}

async fn up(options: Options, log_level: logging::Level) -> Result<()> {
    let data = DataFolder::open(&options.data)?;
    let shim = find_shim(options.shim.as_deref())?;
    let listener = TcpListener::bind(options.listen).await.with_context(|| {
        format!(
            "cannot listen on {}; choose another address with --listen",
            options.listen
        )
    })?;
    let address = listener.local_addr()?;
    let url = options
        .external_url
        .clone()
        .unwrap_or_else(|| format!("http://{address}"));

    let sealer = sealer(&options, &data)?;
    let database = options
        .database_url
        .clone()
        .unwrap_or_else(|| DatabaseUrl::from(data.join("airside.db")));
    let store = Store::open(database, sealer).await?;
    // This and the data folder's lock prove that no other process drives these builds.
    let _alone = store.take_alone().await?;
    store.release_all_leases().await?;
    let installation = store.installation().await?;
    let (users, made_up) = users(&options, &data)?;
    store.ensure_main_team(&main_team_auth(&users)).await?;
    let auth = Auth::new(store.clone(), users.clone(), SESSION);
    let logs = Logs::open(&data.join("logs"))?;
    let volumes = Volumes::open(&data.join("volumes"))?;

    let shutdown = CancellationToken::new();
    let proofs = WorkerProofs::default();
    let mut entries =
        vec![workers::local(&data, &store, volumes.clone(), &installation, &shim).await?];
    if let Some(file) = &options.targets {
        entries.extend(workers::targets(file, &store, &installation, &proofs).await?);
    }
    let names: Vec<_> = entries
        .iter()
        .map(|entry| entry.placement.worker().clone())
        .collect();
    store.retain_workers(&names).await?;

    let parts = airside_hub::Parts {
        store: store.clone(),
        volumes: volumes.clone(),
        proofs: Arc::new(proofs),
    };
    let identity = Identity::load_or_create(&data.join("hub-key.pem"))?;
    let hub_address = hub_address(&options, &data);
    let hub = Hub::start(hub_address, &identity, parts, shutdown.clone()).await?;
    data.save_hub_port(hub.port())?;

    let metrics = Metrics::default();
    let orchestrator = Orchestrator::new(
        store.clone(),
        hub.clone(),
        volumes.clone(),
        Workers::new(entries),
        installation,
        Patience {
            keeping: options.keeping.keeping(),
            ..Patience::default()
        },
        metrics.clone(),
    );
    let lease_address = format!("{}:{}", hub_address.ip(), hub.port());
    let engine = Engine::new(
        store.clone(),
        logs.clone(),
        orchestrator.clone(),
        metrics.clone(),
        url.clone(),
        lease_address,
    );
    orchestrator.attend_kept().await?;
    engine.resume().await?;
    let sweeper = tokio::spawn({
        let shutdown = shutdown.clone();
        async move { orchestrator.sweep_forever(shutdown).await }
    });

    let collector = tokio::spawn({
        let (engine, shutdown) = (engine.clone(), shutdown.clone());
        async move { engine.collect_forever(shutdown).await }
    });

    greet(&url, &users[0], made_up.as_deref());
    let builds = Arc::new(EngineBuilds(engine.clone()));
    let state = ApiState::new(
        store,
        auth,
        builds,
        logs,
        metrics,
        &url,
        env!("CARGO_PKG_VERSION"),
    )
    .with_log_level(Arc::new(log_level))
    .with_hub(hub)
    .with_volumes(volumes)
    .with_intercept_idle_timeout(options.keeping.idle_timeout())
    .with_cli_dir(options.cli_dir.clone());
    if let Some(address) = options.metrics_listen {
        serve_metrics(address, state.clone(), shutdown.clone()).await?;
    }
    serve(listener, state, shutdown).await?;
    engine.shut_down().await;
    sweeper.await?;
    collector.await?;
    info!("stopped; running steps go on and are followed again at the next start");
    Ok(())
}

async fn serve_metrics(
    address: SocketAddr,
    state: ApiState,
    shutdown: CancellationToken,
) -> Result<()> {
    let listener = TcpListener::bind(address).await.with_context(|| {
        format!("cannot serve metrics on {address}; choose another address with --metrics-listen")
    })?;
    let served = airside_api::serve(listener, airside_api::metrics_router(state), shutdown);
    tokio::spawn(served);
    Ok(())
}

/// Serves the API until SIGTERM or SIGINT, then a moment longer for requests under way.
async fn serve(listener: TcpListener, state: ApiState, shutdown: CancellationToken) -> Result<()> {
    let (mut term, mut int) = (
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    );
    let stop = shutdown.clone();
    tokio::spawn(async move {
        tokio::select! { _ = term.recv() => {}, _ = int.recv() => {} }
        info!("stopping");
        stop.cancel();
    });
    let router = airside_api::router(state);
    let served = airside_api::serve(listener, router, shutdown.clone());
    tokio::pin!(served);
    tokio::select! {
        result = &mut served => return Ok(result?),
        () = shutdown.cancelled() => {}
    }
    // Event streams have no end of their own.
    let patience = std::time::Duration::from_secs(2);
    match tokio::time::timeout(patience, served).await {
        Ok(result) => Ok(result?),
        Err(_) => Ok(()),
    }
}

fn hub_address(options: &Options, data: &DataFolder) -> SocketAddr {
    options.hub_listen.unwrap_or_else(|| {
        let everywhere = options.targets.is_some();
        let ip = if everywhere {
            Ipv4Addr::UNSPECIFIED
        } else {
            Ipv4Addr::LOCALHOST
        };
        SocketAddr::new(IpAddr::V4(ip), data.hub_port().unwrap_or(0))
    })
}

fn sealer(options: &Options, data: &DataFolder) -> Result<Sealer> {
    let sealer = match &options.encryption_key_file {
        Some(file) => Sealer::new(&read_key(file)?)
            .with_context(|| format!("cannot use the key in {}", file.display()))?,
        None => Sealer::new(&data.encryption_key()?)?,
    };
    match &options.old_encryption_key_file {
        Some(file) => Ok(sealer
            .with_old_key(&read_key(file)?)
            .with_context(|| format!("cannot use the key in {}", file.display()))?),
        None => Ok(sealer),
    }
}

/// A key as it is, or in hex digits.
fn read_key(file: &Path) -> Result<Vec<u8>> {
    let bytes = std::fs::read(file)
        .with_context(|| format!("cannot read the key in {}", file.display()))?;
    let text = std::str::from_utf8(&bytes).unwrap_or_default().trim();
    Ok(if text.len() == 64 {
        hex::decode(text).unwrap_or(bytes)
    } else {
        bytes
    })
}

fn find_shim(given: Option<&Path>) -> Result<PathBuf> {
    let path = match given {
        Some(path) => path.to_owned(),
        None => std::env::current_exe()?.with_file_name("airside-shim"),
    };
    if !path.is_file() {
        bail!(
            "there is no shim at {}; build it with `make build`, or say where it is with --shim",
            path.display()
        );
    }
    Ok(path.canonicalize()?)
}

/// The users, and the password of the first if we had to make it up.
fn users(options: &Options, data: &DataFolder) -> Result<(Vec<LocalUser>, Option<String>)> {
    if !options.users.is_empty() {
        return Ok((options.users.clone(), None));
    }
    let password = data.password()?;
    Ok((vec![format!("admin:{password}").parse()?], Some(password)))
}

fn main_team_auth(users: &[LocalUser]) -> serde_json::Value {
    let owner = format!("local:{}", users[0].name());
    serde_json::json!({"owner": {"users": [owner], "groups": []}})
}

/// Tells a person what to do next. Standard error, like everything that is not data.
fn greet(url: &str, user: &LocalUser, password: Option<&str>) {
    let shown = password.unwrap_or("…");
    eprintln!();
    eprintln!("  Airside is up at {url}");
    eprintln!(
        "  fly -t airside login -c {url} -u {} -p {shown}",
        user.name()
    );
    eprintln!();
}

fn refused(error: airside_engine::Error) -> TriggerError {
    match error {
        airside_engine::Error::Store(error) => TriggerError::Store(error),
        other => TriggerError::Refused(other.to_string()),
    }
}

/// The engine as the API sees it.
struct EngineBuilds(Engine);

#[async_trait]
impl Builds for EngineBuilds {
    async fn trigger(&self, job: JobId, created_by: &str) -> Result<Build, TriggerError> {
        self.0.trigger(job, created_by).await.map_err(refused)
    }

    async fn start(&self, build: OneOffBuild<'_>) -> Result<Build, TriggerError> {
        let one_off = OneOff {
            team: build.team,
            pipeline: build.pipeline,
            created_by: Some(build.created_by),
            plan: &build.plan,
        };
        self.0.start(one_off).await.map_err(refused)
    }

    async fn abort(&self, build: BuildId) -> Result<(), airside_store::Error> {
        self.0.abort(build).await.map_err(|error| match error {
            airside_engine::Error::Store(error) => error,
            other => airside_store::Error::Corrupt {
                what: other.to_string(),
            },
        })
    }
}
