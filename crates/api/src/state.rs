//! What every handler can reach.

use std::sync::Arc;

use airside_auth::Auth;
use airside_connectors::Connectors;
use airside_logs::Logs;
use airside_metrics::Metrics;
use airside_store::Store;

use crate::{Builds, LogLevel, log_level::Fixed};

/// The version of Concourse whose API this is: `fly` refuses a server of another major or minor.
pub const CONCOURSE_VERSION: &str = "8.3.0";

/// The version of the protocol between Concourse and its workers; `fly workers` compares with it.
pub const WORKER_VERSION: &str = "2.5";

#[derive(Clone)]
pub struct ApiState {
    pub store: Store,
    pub auth: Auth,
    pub builds: Arc<dyn Builds>,
    pub logs: Logs,
    pub metrics: Metrics,
    /// Where users reach this server; links begin with it. No slash at the end.
    pub external_url: Arc<str>,
    /// Our own version, as opposed to [`CONCOURSE_VERSION`].
    pub version: Arc<str>,
    pub log_level: Arc<dyn LogLevel>,
    /// Whom the login page offers beside passwords.
    pub connectors: Arc<Connectors>,
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
            store,
            auth,
            builds,
            logs,
            metrics,
            external_url,
            version: version.into(),
            log_level: Arc::new(Fixed),
            connectors: Arc::default(),
        }
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

    /// Whether browsers come over TLS, so that cookies need not travel without.
    pub(crate) fn is_secure(&self) -> bool {
        self.external_url.starts_with("https:")
    }
}
