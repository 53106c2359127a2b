//! A team's container for native checks on another worker, in which each check is a guest.
//!
//! The first check that finds no container places it, as the step of a build. The container holds
//! nothing but the shim's program and, where the worker has an image for that, what `git` needs.

use std::time::Duration;

use airside_check_process::{Check, Checked, Failure, Freshness};
use airside_model::{Version, WorkerName};
use airside_orchestrator::{Asker, GuestEnd, GuestRequest, GuestRun, HostLookup};
use airside_protocol::Executable;
use airside_runtime::Image;
use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout};

use super::{
    CheckAnswer, CheckRunner, CheckWays, read_versions,
    visit::{GuestVisit, VISIT_TRIES},
};

/// Time that a periodic check waits for its container: a cluster that is away delays the checks of
/// other workers no longer than this.
const PLACING_TIMEOUT: Duration = Duration::from_secs(120);

/// Runs a team's native checks in its container on one worker.
pub struct GuestRunner {
    ways: CheckWays,
    team: String,
    worker: WorkerName,
    has_programs: bool,
}

#[async_trait]
impl CheckRunner for GuestRunner {
    fn worker(&self) -> &WorkerName {
        &self.worker
    }

    /// Checks in the container, if it is there or being placed.
    async fn run(&self, check: &Check) -> CheckAnswer {
        let request = match self.request(&check.type_, &check.source, check.from.as_ref()) {
            Ok(request) => request,
            Err(why) => return CheckAnswer::Ended(Err(self.not_started(why))),
        };
        let deadline = airside_model::deadline_after(Instant::now(), check.timeout);
        let (name, anew) = (
            self.name(&check.type_),
            check.freshness == Freshness::FromNow,
        );
        for _ in 0..VISIT_TRIES {
            let left = deadline.saturating_duration_since(Instant::now());
            let found = self.ways.orchestrator.host(&name, Asker::Booker, anew);
            let found = timeout(left.min(PLACING_TIMEOUT), found).await;
            let host = match found {
                Ok(HostLookup::There(host)) => host,
                Ok(HostLookup::Nothing(ticket)) => return CheckAnswer::Unplaced(ticket),
                Ok(HostLookup::Refused(why)) => {
                    return CheckAnswer::Ended(Err(self.not_started(why)));
                }
                Err(_) if left < PLACING_TIMEOUT => {
                    return CheckAnswer::Ended(Err(timed_out(String::new())));
                }
                Err(_) => {
                    let why = format!("worker {} has not made its container yet", self.worker);
                    return CheckAnswer::Ended(Err(self.not_started(why)));
                }
            };
            let visit = GuestVisit {
                name: &name,
                host,
                request: &request,
                timeout: check.timeout,
                deadline,
                freshness: check.freshness,
            };
            if let Some(run) = self.ways.visit(visit).await {
                return CheckAnswer::Ended(checked(run));
            }
        }
        CheckAnswer::Ended(Err(Failure::Died {
            team: self.team.clone(),
            how: format!("its container on worker {} was lost", self.worker),
            output: String::new(),
        }))
    }
}

impl GuestRunner {
    pub(super) fn new(ways: &CheckWays, team: &str, worker: WorkerName) -> Self {
        let has_programs = ways
            .orchestrator
            .capabilities(&worker)
            .is_some_and(|able| able.has_host_image);
        Self {
            ways: ways.clone(),
            team: team.to_owned(),
            worker,
            has_programs,
        }
    }

    /// Name under which the team's container is offered. Its list is shorter than that of a
    /// [`super::SharedHost`], so the two never meet. A type that may act as its pod's service
    /// account has a container of its own: no program of another type runs beside it.
    pub fn name(&self, type_: &str) -> String {
        if airside_resource_types::uses_pod_account(type_) {
            json!([self.team, self.worker, "checker", type_]).to_string()
        } else {
            json!([self.team, self.worker, "checker"]).to_string()
        }
    }

    /// The image of the container: one for all types that share one.
    pub fn image(&self, type_: &str) -> Image {
        if self.has_programs && !airside_resource_types::uses_pod_account(type_) {
            Image::Host
        } else {
            Image::Shim
        }
    }

    /// Returns a check as a process, or the reason why this worker cannot run it.
    pub fn request(
        &self,
        type_: &str,
        source: &Map<String, Value>,
        from: Option<&Version>,
    ) -> Result<GuestRequest, String> {
        if !self.has_programs && airside_resource_types::needs_programs(type_, source) {
            return Err(format!(
                "checks of type `{type_}` need programs that worker {} has no image for: set \
                 host_image in its target",
                self.worker
            ));
        }
        let mut stdin = json!({"source": source});
        if let Some(version) = from {
            stdin["version"] = json!(version);
        }
        Ok(GuestRequest {
            run: Executable::Shim,
            args: ["resource", type_, "check"].map(str::to_owned).to_vec(),
            env: Vec::new(),
            user: None,
            stdin: stdin.to_string(),
            scratch: true,
        })
    }

    fn not_started(&self, why: String) -> Failure {
        let team = self.team.clone();
        Failure::NotStarted { team, why }
    }
}

fn timed_out(output: String) -> Failure {
    Failure::TimedOut { output }
}

/// Returns the end of a guest as a process of this machine would have reported it.
fn checked(run: GuestRun) -> Result<Checked, Failure> {
    let output = String::from_utf8_lossy(&run.output).into_owned();
    match run.end {
        GuestEnd::Exited(0) => match read_versions(&run.answer) {
            Ok(versions) => Ok(Checked { versions, output }),
            Err(why) => Err(Failure::Broken { why, output }),
        },
        GuestEnd::Exited(_) => Err(Failure::Failed { output }),
        GuestEnd::Errored(why) => Err(Failure::Broken { why, output }),
        GuestEnd::TimedOut => Err(timed_out(output)),
    }
}
