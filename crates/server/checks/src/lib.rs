//! Decides when resources are checked, and which way each check runs.
//!
//! ```text
//!  builds that wait for versions          people and webhooks
//!        │ CheckService::want                  │ CheckRequests
//!        ▼                                     ▼
//!  CheckLoop ── CheckQueue               CheckBuilds ──▶ a build that the engine drives
//!   (due when; pure)                                         │
//!        │ begins                                            │ its step `check`
//!        ▼                                                   ▼
//!       run ──────────────── CheckWays: the choice ──────────┘
//!                                  │
//!    native type, worker here      ├─▶ 1 ProcessRunner: the team's confined process on this
//!                                  │     machine
//!    native type, other worker     ├─▶ 2 GuestRunner: a process in the team's container there
//!      … which is not placed yet   ├─▶ 3 a build (CheckBuilds) that first places that
//!                                  │     container as its own step, then 2
//!    type with an image            └─▶ 4 a build: guest of a container of that image which checks
//!                                        share (SharedHost), or else a container of its own
//! ```
//!
//! Ways 1 and 2 implement [`CheckRunner`] and need no build. A native check whose result equals the
//! last one writes nothing but its time, in batches; any other result is saved as a build for
//! people to see (`report`). [`airside_schedule::checks`] says which resources are checked
//! periodically.
//!
//! **Invariants:** nothing is polled: pipelines are read when they change, and everything else
//! happens when it is due; no limit delays a check that a build or a person waits for; the last
//! checks in memory are written before their ends are announced. *Absent:* HTTP, and driving
//! builds: the engine implements [`CheckBuilds`] and asks [`CheckWays`] for its steps.

mod check_queue;
mod due_queue;
mod limit;
mod payload;
mod phase;
mod report;
mod requests;
mod run;
mod service;
mod spec;
mod task;
mod ways;
mod webhook_tokens;

use std::{sync::Arc, time::Duration};

use airside_config::Config;
use airside_logs::Logs;
use airside_model::ResourceId;
use airside_schedule::checks::CheckPolicy;
use airside_secrets::{Asker, Credentials};
use airside_store::{Build, NewCheck, Pipeline, Store};
use airside_telemetry::metrics::Metrics;
use airside_vars::InstanceVars;
use async_trait::async_trait;
use serde_json::Value;
use tokio::{
    sync::{Mutex, mpsc},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

pub use requests::{
    CheckDepth, CheckRequest, CheckRequestError, CheckRequests, CheckSubject, WebhookOutcome,
};
pub use ways::{
    CheckAnswer, CheckRunner, CheckWay, CheckWays, GuestRunner, GuestVisit, IMAGE_INTERVAL,
    ProcessRunner, SharedHost, VISIT_TRIES, WorkerCheckers, read_answer, read_versions,
};

/// The port to the engine, for checks that run as builds.
#[async_trait]
pub trait CheckBuilds: Send + Sync {
    /// Creates a build that checks, and starts it. The task ends with the build.
    async fn start_check(
        &self,
        check: NewCheck<'_>,
    ) -> Result<(Build, JoinHandle<()>), airside_store::Error>;
}

/// The parts of the server that checks use.
pub struct CheckServiceOptions {
    pub store: Store,
    pub ways: CheckWays,
    pub builds: Arc<dyn CheckBuilds>,
    pub credentials: Credentials,
    pub logs: Logs,
    pub metrics: Metrics,
    pub policy: CheckPolicy,
    /// Timeout of a check whose resource sets none.
    pub timeout: Duration,
    /// Maximum rate of periodic checks; none means no limit.
    pub max_per_second: Option<f64>,
}

/// A handle on the checks; clones share them.
#[derive(Clone)]
pub struct CheckService {
    parts: Arc<Parts>,
    wanted: mpsc::UnboundedSender<ResourceId>,
}

struct Parts {
    store: Store,
    ways: CheckWays,
    builds: Arc<dyn CheckBuilds>,
    credentials: Credentials,
    logs: Logs,
    metrics: Metrics,
    policy: CheckPolicy,
    timeout: Duration,
    max_per_second: Option<f64>,
    tokens: webhook_tokens::WebhookTokens,
}

impl Parts {
    /// Puts the values of variables into a part of a pipeline's configuration. Returns the result
    /// and the secrets that went into it.
    async fn fill(
        &self,
        pipeline: &Pipeline,
        config: &Config,
        value: Value,
    ) -> Result<(Value, Vec<Value>), airside_vars::Error> {
        let asker = Asker {
            team: pipeline.team_name.clone(),
            pipeline: Some(pipeline.name.clone()),
            instance_vars: InstanceVars(pipeline.instance_vars.as_map().clone()),
            job: None,
        };
        let variables = self.credentials.of(asker, &config.var_sources);
        variables.fill(value, None).await
    }
}

/// The loop that runs periodic and wanted checks. One of its clones runs at a time: another starts
/// from the store where one was broken off.
#[derive(Clone)]
pub struct CheckLoop {
    parts: Arc<Parts>,
    wanted: Arc<Mutex<mpsc::UnboundedReceiver<ResourceId>>>,
}

impl CheckService {
    /// Returns the handle, and the loop that the caller runs.
    pub fn new(options: CheckServiceOptions) -> (Self, CheckLoop) {
        let parts = Arc::new(Parts {
            store: options.store,
            ways: options.ways,
            builds: options.builds,
            credentials: options.credentials,
            logs: options.logs,
            metrics: options.metrics,
            policy: options.policy,
            timeout: options.timeout,
            max_per_second: options.max_per_second,
            tokens: webhook_tokens::WebhookTokens::default(),
        });
        let (sender, wanted) = mpsc::unbounded_channel();
        let service = Self {
            parts: parts.clone(),
            wanted: sender,
        };
        let wanted = Arc::new(Mutex::new(wanted));
        (service, CheckLoop { parts, wanted })
    }

    /// Requests a check of a resource that begins from now on. The store announces its end
    /// ([`airside_store::News::CheckEnded`]).
    pub fn want(&self, resource: ResourceId) {
        // Without a loop the server is about to stop, and no build waits any more.
        let _ = self.wanted.send(resource);
    }
}

impl CheckLoop {
    /// Runs checks that are due or wanted until `shutdown`.
    pub async fn run(self, shutdown: CancellationToken) {
        let mut wanted = self.wanted.lock().await;
        service::run(self.parts, &mut wanted, shutdown).await;
    }
}
