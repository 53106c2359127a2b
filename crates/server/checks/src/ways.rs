//! The ways a check runs, and the choice among them. The drawing is in the crate's documentation.

mod guest;
mod host;
mod visit;

use std::sync::Arc;

use airside_check_process::{Check, Checked, Checkers, Failure};
use airside_model::{Version, WorkerName, bounded_versions, chain, plan::CheckPlan};
use airside_orchestrator::{HostTicket, Orchestrator};
use async_trait::async_trait;
use serde::de::DeserializeOwned;

pub use guest::GuestRunner;
pub use host::{IMAGE_INTERVAL, SharedHost};
use visit::Visits;
pub use visit::{GuestVisit, VISIT_TRIES};

/// The confined processes that answer native checks on one worker: this machine.
#[derive(Clone)]
pub struct WorkerCheckers {
    pub worker: WorkerName,
    pub checkers: Checkers,
}

/// Runs native checks in one place, without a build.
#[async_trait]
pub trait CheckRunner: Send + Sync {
    /// The worker that the checks run on.
    fn worker(&self) -> &WorkerName;

    /// Runs one check. Dropping the future gives the check up.
    async fn run(&self, check: &Check) -> CheckAnswer;
}

/// The result of [`CheckRunner::run`].
pub enum CheckAnswer {
    Ended(Result<Checked, Failure>),
    /// The container for such checks is not placed yet: a build has to run the check. Equal checks
    /// wait until a build has placed the container, or the ticket is dropped.
    Unplaced(HostTicket),
}

/// The way that was chosen for one check.
pub enum CheckWay {
    Process(ProcessRunner),
    Guest(GuestRunner),
    /// A container with the image of its type, as a step of a build.
    Container,
}

impl CheckWay {
    /// The runner of a way that needs no build.
    pub fn runner(&self) -> Option<&dyn CheckRunner> {
        match self {
            Self::Process(runner) => Some(runner),
            Self::Guest(runner) => Some(runner),
            Self::Container => None,
        }
    }
}

/// Runs checks in the team's confined process on this machine.
#[derive(Clone)]
pub struct ProcessRunner {
    own: WorkerCheckers,
}

#[async_trait]
impl CheckRunner for ProcessRunner {
    fn worker(&self) -> &WorkerName {
        &self.own.worker
    }

    async fn run(&self, check: &Check) -> CheckAnswer {
        CheckAnswer::Ended(self.check(check).await)
    }
}

impl ProcessRunner {
    /// Runs one check; a process is always there or started.
    pub async fn check(&self, check: &Check) -> Result<Checked, Failure> {
        self.own.checkers.check(check).await
    }
}

/// Chooses the way for each check; clones share it.
#[derive(Clone)]
pub struct CheckWays {
    orchestrator: Orchestrator,
    own: Option<WorkerCheckers>,
    visits: Arc<Visits>,
}

impl CheckWays {
    /// `own` answers native checks on this machine; without it they run in containers there too.
    pub fn new(orchestrator: Orchestrator, own: Option<WorkerCheckers>) -> Self {
        Self {
            orchestrator,
            own,
            visits: Arc::default(),
        }
    }

    /// Returns the check processes of this machine, if it has any.
    pub fn own(&self) -> Option<&WorkerCheckers> {
        self.own.as_ref()
    }

    /// Returns the way for a check that the loop runs, or none while the worker for it takes no
    /// steps.
    pub fn for_due(&self, team: &str, tags: &[String], is_native: bool) -> Option<CheckWay> {
        if self.orchestrator.would_wait(team, tags) {
            return None;
        }
        let worker = is_native.then(|| self.orchestrator.worker_for(team, tags));
        Some(match worker.flatten() {
            Some(worker) => self.on_worker(team, worker),
            None => CheckWay::Container,
        })
    }

    /// Returns the way for a check that is a step of a build. `worker` waits until a worker for the
    /// step is there, and gives none if no worker ever is.
    pub async fn for_step<E>(
        &self,
        team: &str,
        check: &CheckPlan,
        worker: impl Future<Output = Result<Option<WorkerName>, E>>,
    ) -> Result<CheckWay, E> {
        if check.image.get_plan.is_some() || !airside_resource_types::is_native(&check.type_) {
            return Ok(CheckWay::Container);
        }
        // The version of an image is looked up from here, whichever worker pulls it: that is worth
        // no pod.
        if check.resource.is_empty() && check.type_ == "registry-image" {
            return Ok(self.here().map_or(CheckWay::Container, CheckWay::Process));
        }
        Ok(match worker.await? {
            Some(worker) => self.on_worker(team, worker),
            None => CheckWay::Container,
        })
    }

    /// The name of the worker that a team's native checks with these tags run on now.
    pub fn worker_name(&self, team: &str, tags: &[String]) -> Option<WorkerName> {
        self.orchestrator.worker_for(team, tags)
    }

    /// Ends the processes of this machine, and waits for that.
    pub async fn close(&self) {
        if let Some(own) = &self.own {
            own.checkers.close().await;
        }
    }

    fn here(&self) -> Option<ProcessRunner> {
        self.own.clone().map(|own| ProcessRunner { own })
    }

    fn on_worker(&self, team: &str, worker: WorkerName) -> CheckWay {
        match self.here() {
            Some(here) if here.own.worker == worker => CheckWay::Process(here),
            _ => CheckWay::Guest(GuestRunner::new(self, team, worker)),
        }
    }
}

/// Reads the JSON that a resource type's program printed.
pub fn read_answer<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    serde_json::from_slice(bytes).map_err(|error| {
        let shown: String = String::from_utf8_lossy(bytes).chars().take(200).collect();
        format!(
            "the resource's answer is not what it should be ({}): {shown}",
            chain(&error)
        )
    })
}

/// Reads the versions that a check's program printed, oldest first. Empty output means none.
pub fn read_versions(answer: &[u8]) -> Result<Vec<Version>, String> {
    if answer.iter().all(u8::is_ascii_whitespace) {
        return Ok(Vec::new());
    }
    let versions: Option<Vec<Version>> = read_answer(answer)?;
    let versions = versions.unwrap_or_default();
    if versions.iter().any(Version::is_empty) {
        return Err("the check returned a version without any key".to_owned());
    }
    bounded_versions(&versions)?;
    Ok(versions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_or_refused() {
        assert_eq!(read_versions(b" \n"), Ok(vec![]));
        assert_eq!(read_versions(b"[]"), Ok(vec![]));
        assert_eq!(read_versions(b"null"), Ok(vec![]));
        let found = read_versions(br#"[{"v":"1"},{"v":"2"}]"#);
        let expected = [[("v", "1")], [("v", "2")]].map(Version::from);
        assert_eq!(found, Ok(expected.to_vec()));
        for garbage in [&b"{"[..], b"[1]", b"[{}]", b"[{\"v\": 1}]"] {
            assert!(read_versions(garbage).is_err(), "{garbage:?}");
        }
    }
}
