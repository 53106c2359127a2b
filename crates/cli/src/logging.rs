//! What the server writes to standard error.

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

/// Without the Kubernetes client's own words on a lost connection: ours say which target it was.
const DEFAULT_FILTER: &str = "info,kube_client::client::builder=off";

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people
    #[default]
    Human,
    /// One JSON object a line
    Json,
}

pub(crate) fn start(format: LogFormat) {
    let filter =
        EnvFilter::try_from_env("AIRSIDE_LOG").unwrap_or_else(|_| EnvFilter::new(DEFAULT_FILTER));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Human => builder.with_target(false).init(),
        LogFormat::Json => builder.json().init(),
    }
}
