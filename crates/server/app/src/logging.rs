//! The log on standard error, and the export of traces.

use airside_api::LogLevel;
use airside_telemetry::traces::{TARGET, Traces};
use anyhow::{Context, Result};
use parking_lot::Mutex;
use tracing_subscriber::{
    EnvFilter, Layer, fmt, layer::SubscriberExt, reload, util::SubscriberInitExt,
};

use crate::{
    colours,
    options::{LogFormat, Observing},
};

/// The level, which administrators can change while the server runs.
pub(crate) struct Level {
    current: Mutex<String>,
    set: Box<dyn Fn(EnvFilter) -> bool + Send + Sync>,
}

impl LogLevel for Level {
    fn get(&self) -> String {
        self.current.lock().clone()
    }

    fn set(&self, level: &str) -> bool {
        let wanted = match level {
            "debug" | "info" | "error" => level,
            // Nothing is worse than an error here.
            "fatal" => "error",
            _ => return false,
        };
        let done = filter(wanted).is_ok_and(|filter| (self.set)(filter));
        if done {
            *self.current.lock() = level.to_owned();
        }
        done
    }
}

/// The Kubernetes client's own messages about closed connections are left out: ours name the
/// target.
const KUBE_CLIENT: &str =
    "kube_client::client=error,kube_client::client::tls=warn,kube_client::client::builder=off";

/// The database driver reports each lost connection and each notice of Postgres as `info`: our
/// errors say which statement failed. `--log-level` may name `sqlx` to see more.
const DATABASE_DRIVER: &str = "sqlx=warn";

/// Returns the filter for a level. Audit events are always written, spans never.
fn filter(level: &str) -> Result<EnvFilter> {
    let directives = format!("{DATABASE_DRIVER},{level},audit=info,{TARGET}=off,{KUBE_CLIENT}");
    EnvFilter::try_new(directives).with_context(|| {
        format!(
            "cannot understand --log-level `{level}`; it is `debug`, `info`, `warn` or `error`, or has \
             more for one part, as in `info,airside_engine=debug`"
        )
    })
}

/// Starts the log, and the export of traces if there is a collector for them.
pub(crate) fn start(options: &Observing) -> Result<(Level, Option<Traces>)> {
    let (filter, handle) = reload::Layer::new(filter(&options.log_level)?);
    let lines = fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(colours::on_stderr())
        // If standard error is closed, there is no other place for a complaint, and the layer's own
        // would end the thread by a panic.
        .log_internal_errors(false);
    let lines = match options.log_format {
        LogFormat::Human => lines.with_target(false).boxed(),
        LogFormat::Json => lines.json().boxed(),
    };
    let (spans, traces) = match options.collector()? {
        Some(collector) => {
            let (layer, traces) = airside_telemetry::traces::start(collector)?;
            (Some(layer), Some(traces))
        }
        None => (None, None),
    };
    tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .with(spans)
        .init();
    airside_tasks::log_panics();
    // A filter with parts is more than the API can tell: then it is called by what it is nearest
    // to.
    let current = options.log_level.split(',').next().unwrap_or("info");
    let level = Level {
        current: Mutex::new(current.to_owned()),
        set: Box::new(move |filter| handle.reload(filter).is_ok()),
    };
    Ok((level, traces))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_is_read_with_all_that_is_added() {
        assert!(filter("info").is_ok());
        assert!(filter("info,airside_engine=debug").is_ok());
    }
}
