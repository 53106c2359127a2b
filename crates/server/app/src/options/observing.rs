//! What the server says about itself.

use std::path::{Path, PathBuf};

use airside_telemetry::traces::Collector;
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum LogFormat {
    /// Lines for people
    #[default]
    Human,
    /// One JSON object a line
    Json,
}

#[derive(Args)]
#[command(next_help_heading = "Logs and traces")]
pub struct Observing {
    /// How much to write to standard error: `debug`, `info`, `warn`, `error`, or more for one part,
    /// `info,airside_engine=debug`
    #[arg(long, value_name = "FILTER", default_value = "info")]
    pub(crate) log_level: String,

    /// How to write it
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) log_format: LogFormat,

    /// Collector of traces, which speaks OTLP over HTTP: `http://host:4318`; no traces unless given
    #[arg(long, value_name = "URL")]
    otlp_endpoint: Option<String>,

    /// File with headers for the collector, one `Name: value` a line
    #[arg(long, value_name = "FILE")]
    otlp_headers_file: Option<PathBuf>,

    /// What the collector calls this server
    #[arg(long, value_name = "NAME", default_value = "airside")]
    otlp_service_name: String,
}

impl Observing {
    /// Where traces go, if anywhere.
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
