//! Decides when resources are checked, and runs it.
//!
//! ```text
//! store ── news ──▶ service ──▶ desk (who is due when; pure)
//!                      │  ▲
//!            begins    ▼  │ ended
//!                     run ── native ──▶ the team's checker
//!                         └─ others ──▶ a build that the engine drives
//! people ──▶ ask ──────────▶ a build that the engine drives
//! ```
//!
//! A native check that comes to the same as the last one writes nothing but the time, and that in batches; one
//! that does not is made a build, so that people see what happened (`report`). What is checked by itself is
//! [`airside_schedule::checks`]' to say.
//!
//! **Invariants:** nothing is polled: pipelines are read when they change, and everything else happens when it is
//! due; a check that somebody waits for is held up by no limit; last checks in memory are written before
//! anybody is told. *Absent:* HTTP, and how a check is run.

#![forbid(unsafe_code)]

mod ask;
mod desk;
mod limit;
mod payload;
mod phase;
mod queue;
mod report;
mod run;
mod service;
mod spec;
mod task;
mod webhook_tokens;

use std::{sync::Arc, time::Duration};

use airside_engine::Engine;
use airside_logs::Logs;
use airside_model::ResourceId;
use airside_schedule::checks::CheckPolicy;
use airside_store::Store;
use airside_telemetry::metrics::Metrics;
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

pub use ask::{Ask, AskError, Depth, Heard, Subject};

/// What checks are made with.
pub struct Options {
    pub store: Store,
    pub engine: Engine,
    pub logs: Logs,
    pub metrics: Metrics,
    pub policy: CheckPolicy,
    /// A check may take so long, unless its resource says otherwise.
    pub timeout: Duration,
    /// Checks that nobody asked for, at most; none: no limit.
    pub max_per_second: Option<f64>,
}

/// A handle on the checks; clones share them.
#[derive(Clone)]
pub struct Checks {
    parts: Arc<Parts>,
    asks: mpsc::UnboundedSender<ResourceId>,
}

struct Parts {
    store: Store,
    engine: Engine,
    logs: Logs,
    metrics: Metrics,
    policy: CheckPolicy,
    timeout: Duration,
    max_per_second: Option<f64>,
    tokens: webhook_tokens::WebhookTokens,
}

/// The loop that checks by itself. One of its clones runs at a time: another begins anew where one was broken off.
#[derive(Clone)]
pub struct Service {
    parts: Arc<Parts>,
    asks: Arc<Mutex<mpsc::UnboundedReceiver<ResourceId>>>,
}

impl Checks {
    pub fn new(options: Options) -> (Self, Service) {
        let parts = Arc::new(Parts {
            store: options.store,
            engine: options.engine,
            logs: options.logs,
            metrics: options.metrics,
            policy: options.policy,
            timeout: options.timeout,
            max_per_second: options.max_per_second,
            tokens: webhook_tokens::WebhookTokens::default(),
        });
        let (sender, asks) = mpsc::unbounded_channel();
        let checks = Self {
            parts: parts.clone(),
            asks: sender,
        };
        let asks = Arc::new(Mutex::new(asks));
        (checks, Service { parts, asks })
    }

    /// Asks for a check of a resource that begins from now on. Its end is news of the store
    /// ([`airside_store::News::Checked`]).
    pub fn want(&self, resource: ResourceId) {
        // Without a loop the server is about to stop, and nobody waits any more.
        let _ = self.asks.send(resource);
    }
}

impl Service {
    /// Checks what is due until `shutdown`.
    pub async fn run(self, shutdown: CancellationToken) {
        let mut asks = self.asks.lock().await;
        service::run(self.parts, &mut asks, shutdown).await;
    }
}
