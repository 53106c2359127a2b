//! The loop of one team: looks at objects and at the store, and acts on what differs.
//!
//! A pass begins at once with the first event, and the next one a quarter of a second later at the
//! earliest, so that events gather. Every pass compares what is with what should be: an event that
//! was lost costs nothing but time.

mod marks;
mod state;

use std::{sync::Arc, time::Duration};

use airside_model::{TeamId, chain};
use airside_store::{Newsstand, Store};
use airside_telemetry::metrics::Metrics;
use tokio::time::Instant;
use tracing::{info, warn};

pub(crate) use marks::Marks;
pub(crate) use state::{SetAttempt, TeamState};

use crate::{Control, ControlParts, gone, link::TeamLink, mirror, preflight, set, trigger};

/// Time in which events gather after a pass began.
const GATHER: Duration = Duration::from_millis(250);
/// Pause after a pass that failed.
const RETRY: Duration = Duration::from_secs(2);
/// Longest time between two passes.
const IDLE: Duration = Duration::from_secs(60);

/// A part of the server's own that a pass cannot do without.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PassError {
    #[error(transparent)]
    Store(#[from] airside_store::Error),
    #[error(transparent)]
    Request(#[from] crate::link::RequestError),
}

/// Everything that a pass uses and does not change.
pub(crate) struct TeamParts {
    pub(crate) link: Arc<TeamLink>,
    pub(crate) parts: ControlParts,
    pub(crate) store: Store,
    pub(crate) metrics: Metrics,
}

pub(crate) struct TeamLoop {
    team: TeamParts,
    state: TeamState,
}

impl TeamLoop {
    pub(crate) fn new(control: &Control, parts: &ControlParts, link: Arc<TeamLink>) -> Self {
        Self {
            team: TeamParts {
                link,
                parts: parts.clone(),
                store: control.store().clone(),
                metrics: control.metrics().clone(),
            },
            state: TeamState::default(),
        }
    }

    pub(crate) async fn run(mut self) {
        let (cluster, name) = (&self.team.link.cluster, &self.team.link.team.team);
        info!(cluster, team = name, "control of a team started");
        preflight::report_rights(&self.team).await;
        self.team.link.wait_until_ready().await;
        // Heard from before the first look, so that nothing is lost between the two.
        let mut news = self.team.store.news();
        self.state.marks.mark_all(Instant::now());
        loop {
            let began = Instant::now();
            let next = match self.pass().await {
                Ok(next) => next,
                Err(error) => {
                    warn!(
                        cluster = self.team.link.cluster, team = self.team.link.team.team,
                        error = %chain(&error), "objects of a team not reconciled; will retry"
                    );
                    self.state.marks.mark_all(Instant::now() + RETRY);
                    Some(Instant::now() + RETRY)
                }
            };
            tokio::time::sleep_until(began + GATHER).await;
            self.wait(&mut news, next).await;
        }
    }

    /// Waits for an event, or until the time of the next look.
    async fn wait(&mut self, news: &mut Newsstand, next: Option<Instant>) {
        let idle = Instant::now() + IDLE;
        let mut until = next.map_or(idle, |next| next.min(idle));
        loop {
            tokio::select! {
                () = self.team.link.changed.notified() => return,
                () = tokio::time::sleep_until(until) => return,
                heard = news.next() => {
                    self.state.marks.note(heard, Instant::now());
                    if let Some(due) = self.state.marks.next_due() {
                        until = until.min(due);
                    }
                }
            }
        }
    }

    /// Makes everything that is due, and returns the time of the next look.
    async fn pass(&mut self) -> Result<Option<Instant>, PassError> {
        let Some(team) = self.team_id().await? else {
            return Ok(Some(Instant::now() + IDLE));
        };
        self.state.forget_gone(&self.team.link.seen);
        set::pass(&self.team, &mut self.state, team).await?;
        trigger::pass(&self.team, &mut self.state, team).await?;
        gone::pass(&self.team, &mut self.state).await?;
        mirror::pass(&self.team, &mut self.state, team).await?;
        let lag = self.state.marks.oldest_due();
        let lag = lag.map_or(Duration::ZERO, |due| due.elapsed());
        let name = &self.team.link.team.team;
        self.team.metrics.control_lag(name, lag);
        let next_look = self.state.next_look(self.team.parts.deletion_grace);
        Ok([self.state.marks.next_due(), next_look]
            .into_iter()
            .flatten()
            .min())
    }

    async fn team_id(&mut self) -> Result<Option<TeamId>, PassError> {
        let name = &self.team.link.team.team;
        let found = self.team.store.team(name).await?.map(|team| team.id);
        if found.is_none() && !self.state.is_team_missed {
            warn!(
                cluster = self.team.link.cluster,
                team = name,
                "team of the control file not found: correct the file, or make the team"
            );
        }
        self.state.is_team_missed = found.is_none();
        Ok(found)
    }
}
