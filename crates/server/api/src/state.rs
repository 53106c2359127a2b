//! State that every handler can reach.

use std::{path::PathBuf, sync::Arc, time::Duration};

use airside_auth::Auth;
use airside_checks::CheckRequests;
use airside_hub::Hub;
use airside_identity_providers::Connectors;
use airside_limits::Transfers;
use airside_lines::BuildLines;
use airside_live::Live;
use airside_logs::Logs;
use airside_model::TeamId;
use airside_secrets::{Credentials, IdTokens};
use airside_setting::PipelineSetter;
use airside_store::Store;
use airside_telemetry::metrics::Metrics;
use airside_volumes::Volumes;

use crate::{
    Builds, LogLevel, WorkerLife,
    error::{ApiError, Result},
    live_limits::LiveLimits,
    log_level::Fixed,
};

/// The version of Concourse whose API this is: `fly` refuses a server of another major or minor.
pub const CONCOURSE_VERSION: &str = "8.3.0";

/// The version of the protocol between Concourse and its workers; `fly workers` compares with it.
pub const WORKER_VERSION: &str = "3.0";

/// Artifacts that may be on their way at once, of all teams and of one.
const TRANSFERS: usize = 128;
const TRANSFERS_OF_A_TEAM: usize = 32;

#[derive(Clone)]
pub struct ApiState {
    pub store: Store,
    pub auth: Auth,
    pub builds: Arc<dyn Builds>,
    pub logs: Logs,
    /// The lines of builds' output, and their indexes.
    pub(crate) lines: BuildLines,
    pub metrics: Metrics,
    /// Address at which users reach this server; links begin with it. No slash at the end.
    pub external_url: Arc<str>,
    /// Our own version, as opposed to [`CONCOURSE_VERSION`].
    pub version: Arc<str>,
    pub log_level: Arc<dyn LogLevel>,
    /// Identity providers that the login page offers beside passwords.
    pub connectors: Arc<Connectors>,
    /// Sources of the values of variables.
    pub credentials: Credentials,
    id_tokens: Option<IdTokens>,
    /// Sets pipelines, and knows who has a word about that.
    pub pipelines: PipelineSetter,
    /// Lands workers and brings them back.
    pub(crate) workers: Arc<dyn WorkerLife>,
    checks: Option<Arc<dyn CheckRequests>>,
    /// The way into containers.
    hub: Option<Hub>,
    /// Volumes of artifacts.
    volumes: Option<Volumes>,
    /// Streams of changes to pages, whose loop runs elsewhere.
    pub live: Live,
    pub(crate) live_limits: LiveLimits,
    /// Artifacts on their way.
    pub(crate) transfers: Transfers<TeamId>,
    /// An intercept without input for this long is ended; `None` never ends it.
    pub(crate) intercept_idle_timeout: Option<Duration>,
    /// Holds the programs that `fly sync` downloads.
    pub(crate) cli_dir: Option<Arc<PathBuf>>,
}

impl ApiState {
    pub fn new(
        store: Store,
        auth: Auth,
        builds: Arc<dyn Builds>,
        logs: Logs,
        metrics: Metrics,
        external_url: &str,
        version: &str,
    ) -> Self {
        let external_url = external_url.trim_end_matches('/').into();
        Self {
            workers: Arc::new(store.clone()),
            pipelines: PipelineSetter::new(store.clone()),
            live: Live::new(store.clone(), metrics.clone(), airside_ui::edition()),
            live_limits: LiveLimits::default(),
            store,
            auth,
            builds,
            lines: BuildLines::new(logs.clone()),
            logs,
            metrics,
            external_url,
            version: version.into(),
            log_level: Arc::new(Fixed),
            connectors: Arc::default(),
            credentials: Credentials::new(airside_secrets::Options::default()),
            id_tokens: None,
            checks: None,
            hub: None,
            volumes: None,
            transfers: Transfers::new(TRANSFERS, TRANSFERS_OF_A_TEAM),
            intercept_idle_timeout: None,
            cli_dir: None,
        }
    }

    /// Lets people ask for checks.
    pub fn with_checks(mut self, checks: Arc<dyn CheckRequests>) -> Self {
        self.checks = Some(checks);
        self
    }

    /// Asks these for the values of variables.
    pub fn with_credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = credentials;
        self
    }

    /// Sets pipelines through this one, which may have a judge.
    pub fn with_pipelines(mut self, pipelines: PipelineSetter) -> Self {
        self.pipelines = pipelines;
        self
    }

    /// Publishes the keys of these.
    pub fn with_id_tokens(mut self, id_tokens: IdTokens) -> Self {
        self.id_tokens = Some(id_tokens);
        self
    }

    /// Notifies those that choose workers of administrators' changes.
    pub fn with_workers(mut self, workers: Arc<dyn WorkerLife>) -> Self {
        self.workers = workers;
        self
    }

    /// Lets people into containers.
    pub fn with_hub(mut self, hub: Hub) -> Self {
        self.hub = Some(hub);
        self
    }

    /// Lets people upload and download artifacts.
    pub fn with_volumes(mut self, volumes: Volumes) -> Self {
        self.volumes = Some(volumes);
        self
    }

    /// Ends intercepts without input for this long.
    pub fn with_intercept_idle_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.intercept_idle_timeout = timeout;
        self
    }

    /// Gives out the programs in this folder to `fly sync`.
    pub fn with_cli_dir(mut self, dir: Option<PathBuf>) -> Self {
        self.cli_dir = dir.map(Arc::new);
        self
    }

    pub(crate) fn checks(&self) -> Result<&dyn CheckRequests> {
        let absent = ApiError::Internal(
            "this server was assembled without its checks, which is a fault in Airside; report it",
        );
        self.checks.as_deref().ok_or(absent)
    }

    pub(crate) fn id_tokens(&self) -> Result<&IdTokens> {
        let absent = ApiError::Internal(
            "this server was assembled without a signer of id tokens, which is a fault in Airside; report it",
        );
        self.id_tokens.as_ref().ok_or(absent)
    }

    pub(crate) fn hub(&self) -> Result<&Hub> {
        let absent = ApiError::Internal(
            "this server was assembled without its hub, so no step can be reached; this is a fault in Airside; report it",
        );
        self.hub.as_ref().ok_or(absent)
    }

    pub(crate) fn volumes(&self) -> Result<&Volumes> {
        let absent = ApiError::Internal(
            "this server was assembled without volumes, so artifacts cannot be kept; this is a fault in Airside; report it",
        );
        self.volumes.as_ref().ok_or(absent)
    }

    /// Lets administrators see and change how much the server logs.
    pub fn with_log_level(mut self, log_level: Arc<dyn LogLevel>) -> Self {
        self.log_level = log_level;
        self
    }

    /// Lets users log in through these. [`Auth`] must know them, too.
    pub fn with_connectors(mut self, connectors: Connectors) -> Self {
        self.connectors = Arc::new(connectors);
        self
    }

    /// Returns true if browsers come over TLS, so that cookies need not travel without.
    pub(crate) fn is_secure(&self) -> bool {
        self.external_url.starts_with("https:")
    }
}
