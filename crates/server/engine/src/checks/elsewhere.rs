//! The checker of a team on a worker elsewhere: one container, in which each native check is a guest.
//!
//! It is placed by the first check that finds none, as that one's step, and holds nothing but the shim's program and,
//! where the worker has an image for that, what `git` needs.

use std::time::Duration;

use airside_check_process::{Check, Checked, Failure, Freshness};
use airside_model::{Version, WorkerName};
use airside_orchestrator::{Asker, GuestEnd, GuestRequest, GuestRun, HostLookup, Ticket};
use airside_protocol::Executable;
use airside_runtime::Image;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout};

use super::visit::{TRIES, Visit};
use crate::{Engine, steps::versions};

/// For so long a check that nobody asked for waits for its container: a cluster that is away holds up those of other
/// workers no longer.
const PLACING: Duration = Duration::from_secs(120);

/// A team's checker on one worker, whether it is there yet or not.
pub struct Elsewhere {
    engine: Engine,
    team: String,
    worker: WorkerName,
    has_programs: bool,
}

/// What became of a check.
pub enum Answer {
    Ended(Result<Checked, Failure>),
    /// There is no checker yet. Others wait until a check that may place one has run, or the ticket is dropped.
    Unplaced(Ticket),
}

impl Elsewhere {
    pub(super) fn new(engine: &Engine, team: &str, worker: WorkerName) -> Self {
        let orchestrator = &engine.parts.orchestrator;
        let has_programs = orchestrator
            .capabilities(&worker)
            .is_some_and(|able| able.has_host_image);
        Self {
            engine: engine.clone(),
            team: team.to_owned(),
            worker,
            has_programs,
        }
    }

    pub(crate) fn worker(&self) -> &WorkerName {
        &self.worker
    }

    /// As what its container is offered. The list is shorter than that of a type's container, so they never meet.
    pub(crate) fn name(&self) -> String {
        json!([self.team, self.worker, "checker"]).to_string()
    }

    /// One image for all types, so that there is one container.
    pub(crate) fn image(&self) -> Image {
        match self.has_programs {
            true => Image::Host,
            false => Image::Shim,
        }
    }

    /// A check as a process, or why this worker cannot run it.
    pub(crate) fn request(
        &self,
        type_: &str,
        source: &Map<String, Value>,
        from: Option<&Version>,
    ) -> Result<GuestRequest, String> {
        if !self.has_programs && airside_resource_types::needs_programs(type_, source) {
            return Err(format!(
                "checks of type `{type_}` need programs that worker {} has no image for: set host_image in its \
                 target",
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

    /// Checks in the container, if it is there or on its way.
    pub async fn check(&self, check: &Check) -> Answer {
        let request = match self.request(&check.type_, &check.source, check.from.as_ref()) {
            Ok(request) => request,
            Err(why) => return Answer::Ended(Err(self.not_started(why))),
        };
        let deadline = airside_model::deadline_after(Instant::now(), check.timeout);
        let (name, anew) = (self.name(), check.freshness == Freshness::FromNow);
        for _ in 0..TRIES {
            let left = deadline.saturating_duration_since(Instant::now());
            let orchestrator = &self.engine.parts.orchestrator;
            let found = orchestrator.host(&name, Asker::Booker, anew);
            let found = timeout(left.min(PLACING), found).await;
            let host = match found {
                Ok(HostLookup::There(host)) => host,
                Ok(HostLookup::Nothing(ticket)) => return Answer::Unplaced(ticket),
                Ok(HostLookup::Refused(why)) => return Answer::Ended(Err(self.not_started(why))),
                Err(_) if left < PLACING => return Answer::Ended(Err(timed_out(String::new()))),
                Err(_) => {
                    let why = format!("worker {} has not made its container yet", self.worker);
                    return Answer::Ended(Err(self.not_started(why)));
                }
            };
            let visit = Visit {
                name: &name,
                host,
                request: &request,
                timeout: check.timeout,
                deadline,
                freshness: check.freshness,
            };
            if let Some(run) = self.engine.visit(visit).await {
                return Answer::Ended(told(run));
            }
        }
        Answer::Ended(Err(Failure::Died {
            team: self.team.clone(),
            how: format!("its container on worker {} was lost", self.worker),
            output: String::new(),
        }))
    }

    fn not_started(&self, why: String) -> Failure {
        let team = self.team.clone();
        Failure::NotStarted { team, why }
    }
}

fn timed_out(output: String) -> Failure {
    Failure::TimedOut { output }
}

/// As a checker of this machine would have told it.
fn told(run: GuestRun) -> Result<Checked, Failure> {
    let output = String::from_utf8_lossy(&run.output).into_owned();
    match run.end {
        GuestEnd::Exited(0) => match versions(&run.answer) {
            Ok(versions) => Ok(Checked { versions, output }),
            Err(why) => Err(Failure::Broken { why, output }),
        },
        GuestEnd::Exited(_) => Err(Failure::Failed { output }),
        GuestEnd::Errored(why) => Err(Failure::Broken { why, output }),
        GuestEnd::TimedOut => Err(timed_out(output)),
    }
}
