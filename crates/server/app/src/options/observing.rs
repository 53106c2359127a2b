//! Options for logs and traces.

use std::path::{Path, PathBuf};

use airside_telemetry::traces::Collector;
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum LogFormat {
    /// One line of text per event, for people
    #[default]
    Human,
    /// One JSON object per line
    Json,
}

#[derive(Args)]
#[command(next_help_heading = "Logs and traces")]
pub struct Observing {
    /// Log level: debug, info, warn or error; another one for a part as in
    /// info,airside_engine=debug
    #[arg(long, value_name = "FILTER", default_value = "info")]
    pub(crate) log_level: String,

    /// Format of log lines on standard error
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) log_format: LogFormat,

    /// URL of the OTLP/HTTP collector that traces are sent to, for example http://host:4318
    /// [default: no traces]
    #[arg(long, value_name = "URL")]
    otlp_endpoint: Option<String>,

    /// File with headers for the collector, one `Name: value` per line
    #[arg(long, value_name = "FILE")]
    otlp_headers_file: Option<PathBuf>,

    /// Service name in traces
    #[arg(long, value_name = "NAME", default_value = "airside")]
    otlp_service_name: String,
}

impl Observing {
    /// Returns the collector of traces, if one is given.
    pub(crate) fn collector(&self) -> Result<Option<Collector>> {
        let Some(endpoint) = self.otlp_endpoint.clone() else {
            return Ok(None);
        };
        let headers = self.otlp_headers_file.as_deref().map(headers).transpose()?;
        Ok(Some(Collector {
            endpoint,
            headers: headers.unwrap_or_default(),
            service: self.otlp_service_name.clone(),
            version: env!("CARGO_PKG_VERSION"),
        }))
    }
}

fn headers(file: &Path) -> Result<Vec<(String, String)>> {
    let shown = file.display();
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("cannot read the headers in {shown} (--otlp-headers-file)"))?;
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| {
            let (name, value) = line.split_once(':').with_context(|| {
                format!("{shown}:{}: a header is written `Name: value`", number + 1)
            })?;
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        })
        .collect()
}
