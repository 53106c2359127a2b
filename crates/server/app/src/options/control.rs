//! Options for pipelines, jobs and builds as objects of clusters.

use std::path::PathBuf;

use airside_control::Control;
use airside_store::Store;
use airside_telemetry::metrics::Metrics;
use anyhow::Result;
use clap::Args;

#[derive(Args)]
#[command(next_help_heading = "Objects of clusters")]
pub(crate) struct ControlOptions {
    /// YAML file with clusters and teams whose pipelines, jobs and builds are objects of a cluster;
    /// read again when it changes. See docs/control-objects.md
    #[arg(long, value_name = "FILE")]
    control: Option<PathBuf>,
}

impl ControlOptions {
    /// Opens the clusters of the control file, if there is one.
    pub(crate) async fn open(&self, store: &Store, metrics: &Metrics) -> Result<Option<Control>> {
        match &self.control {
            Some(file) => Ok(Some(Control::open(file, store, metrics).await?)),
            None => Ok(None),
        }
    }
}
