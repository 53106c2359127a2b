//! What the server writes to standard error.

use airside_api::LogLevel;
use clap::ValueEnum;
use parking_lot::Mutex;
use tracing_subscriber::{
    EnvFilter, Layer, fmt, layer::SubscriberExt, reload, util::SubscriberInitExt,
};

/// Whatever the level: who changed what is always written, and the Kubernetes client's own words on a
/// lost connection never, since ours say which target it was.
const ALWAYS: &str = "audit=info,kube_client::client::builder=off";

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people
    #[default]
    Human,
    /// One JSON object a line
    Json,
}

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
        let filter = match level {
            "debug" | "info" | "error" => level,
            // Nothing is worse than an error here.
            "fatal" => "error",
            _ => return false,
        };
        let done = (self.set)(EnvFilter::new(format!("{filter},{ALWAYS}")));
        if done {
            *self.current.lock() = level.to_owned();
        }
        done
    }
}

pub(crate) fn start(format: LogFormat) -> Level {
    let level = std::env::var("AIRSIDE_LOG").unwrap_or_else(|_| "info".to_owned());
    let filter = EnvFilter::try_new(format!("{level},{ALWAYS}"))
        .unwrap_or_else(|_| EnvFilter::new(format!("info,{ALWAYS}")));
    let (filter, handle) = reload::Layer::new(filter);
    let lines = fmt::layer().with_writer(std::io::stderr);
    let lines = match format {
        LogFormat::Human => lines.with_target(false).boxed(),
        LogFormat::Json => lines.json().boxed(),
    };
    tracing_subscriber::registry()
        .with(filter)
        .with(lines)
        .init();
    Level {
        current: Mutex::new("info".to_owned()),
        set: Box::new(move |filter| handle.reload(filter).is_ok()),
    }
}
