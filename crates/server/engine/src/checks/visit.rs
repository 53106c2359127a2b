//! One check as a guest of a container, together with equal ones at the same time.

use std::{sync::Arc, time::Duration};

use airside_check_process::{Freshness, Sharing};
use airside_orchestrator::{GuestRequest, GuestRun, Host};
use tokio::time::Instant;

use crate::Engine;

/// A check whose container was lost is tried so often in all. The first try may be lost with its machine, and the second
/// may only find out that this container does not answer any more; what took the first will hardly take the third.
pub(crate) const TRIES: u32 = 3;

/// Equal ones would find the same: the container's name, the program's arguments and input, how long it may take.
pub(crate) type Visits = Sharing<(String, Vec<String>, String, Duration), Option<GuestRun>>;

pub(crate) struct Visit<'a> {
    /// Under which the host is offered.
    pub(crate) name: &'a str,
    pub(crate) host: Arc<Host>,
    pub(crate) request: &'a GuestRequest,
    /// What checks like it are allowed, and when that is over for this one.
    pub(crate) timeout: Duration,
    pub(crate) deadline: Instant,
    pub(crate) freshness: Freshness,
}

impl Engine {
    /// None: the container was lost, and nothing came of it.
    pub(crate) async fn visit(&self, visit: Visit<'_>) -> Option<GuestRun> {
        let Visit { request, .. } = visit;
        let key = (
            visit.name.to_owned(),
            request.args.clone(),
            request.stdin.clone(),
            visit.timeout,
        );
        let begin = {
            let (orchestrator, request) = (self.parts.orchestrator.clone(), request.clone());
            let (host, deadline) = (visit.host, visit.deadline);
            move || async move {
                let left = deadline.saturating_duration_since(Instant::now());
                orchestrator.run_as_guest(&host, &request, left).await
            }
        };
        self.parts.visits.run(key, visit.freshness, begin).await
    }
}
