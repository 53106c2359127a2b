//! One check as a guest of a container, shared by equal checks at the same time.

use std::{sync::Arc, time::Duration};

use airside_check_process::{Freshness, Sharing};
use airside_orchestrator::{GuestRequest, GuestRun, Host};
use tokio::time::Instant;

use super::CheckWays;

/// Number of tries of a check whose container is lost. The first try may be lost with its machine,
/// and the second may only find that this container no longer answers; a third cause is unlikely.
pub const VISIT_TRIES: u32 = 3;

/// Runs in flight. The key is everything that decides the result: the container's name, the
/// program's arguments and input, and the timeout.
pub(super) type Visits = Sharing<(String, Vec<String>, String, Duration), Option<GuestRun>>;

/// A check about to run in a container.
pub struct GuestVisit<'a> {
    /// Name under which the container is offered.
    pub name: &'a str,
    pub host: Arc<Host>,
    pub request: &'a GuestRequest,
    /// Time that such checks are allowed.
    pub timeout: Duration,
    /// Moment at which this check's time is over.
    pub deadline: Instant,
    pub freshness: Freshness,
}

impl CheckWays {
    /// Runs a check in its container. None if the container was lost on the way.
    pub async fn visit(&self, visit: GuestVisit<'_>) -> Option<GuestRun> {
        let GuestVisit { request, .. } = visit;
        let key = (
            visit.name.to_owned(),
            request.args.clone(),
            request.stdin.clone(),
            visit.timeout,
        );
        let begin = {
            let (orchestrator, request) = (self.orchestrator.clone(), request.clone());
            let (host, deadline) = (visit.host, visit.deadline);
            move || async move {
                let left = deadline.saturating_duration_since(Instant::now());
                orchestrator.run_as_guest(&host, &request, left).await
            }
        };
        self.visits.run(key, visit.freshness, begin).await
    }
}
