//! Following a placed step to its end, by what its shim says and what its runtime sees.

use std::{collections::BTreeSet, time::Duration};

use airside_hub::{Session, SessionEvent, Work};
use airside_protocol::Exit;
use airside_runtime::{Cause, Observed, Shortage};
use sha2::{Digest as _, Sha256};
use tokio::{sync::watch, time::Instant};
use tracing::info;

use crate::{
    ContainerHold, Orchestrator, Result, StepEnd, StepResult,
    container_ref::ContainerRef,
    output::OutputLog,
    placing::{StepContext, StepPlacement},
};

/// A result may still be on its way when the runtime says that the container is gone.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Time that a runtime whose watch is late has to name what takes a container away. One whose watch
/// is not late names it at once.
const EXPLANATION: Duration = Duration::from_secs(5);

/// Number of reasons for refused claims in a step's log; the server's log has all.
const REFUSALS: usize = 8;

/// Pause between two tries to make room for a step that still finds none.
const NEXT_ROOM: Duration = Duration::from_secs(5);

/// The end of following a step.
pub(crate) enum FollowEnd {
    Ended(StepResult, ContainerHold),
    /// The runtime has lost the step, and its shim brought no result.
    Lost {
        loss: StepLoss,
        held: ContainerHold,
    },
}

/// The loss of a step's container: the cause decides, the reason is for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepLoss {
    pub(crate) cause: Cause,
    pub(crate) reason: String,
}

impl StepLoss {
    pub(crate) fn new(cause: Cause, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self { cause, reason }
    }

    /// Returns the loss by an error: its reason tells all that led to the error.
    fn by_error(cause: Cause, error: &dyn std::error::Error) -> Self {
        Self::new(cause, airside_model::chain(error))
    }
}

/// The consequence of one event for the step that is followed.
enum EventOutcome {
    Continue,
    /// The shim has reported the end of the step's process.
    ProcessEnded(Exit),
    /// The container is lost.
    Lost(StepLoss),
    /// The step ends without a process that ran to its end.
    Ended(StepEnd),
}

/// A worker without room for the step.
struct Crowded {
    shortage: Shortage,
    /// Time of the next try to make more room.
    next_try: Instant,
}

/// The state of a step that is followed, as far as its shim and its runtime have reported it.
struct StepWatch<'a> {
    session: Session,
    seen: watch::Receiver<Option<Observed>>,
    output: OutputLog<'a>,
    connected: bool,
    /// Time to give up on a step that is out of sight, and the loss to report then.
    deadline: Option<(Instant, StepLoss)>,
    stopping: bool,
    last_remark: String,
    /// The reasons of refused claims that the log has already.
    refusals: BTreeSet<String>,
    /// Set while the step waits because its worker has no room.
    crowded: Option<Crowded>,
}

impl StepWatch<'_> {
    /// Logs a reason once, however often a shim without the right to the step tries again.
    async fn log_refusal(&mut self, context: &StepContext<'_>, reason: String) -> Result<()> {
        if self.refusals.len() >= REFUSALS || !self.refusals.insert(reason.clone()) {
            return Ok(());
        }
        let digest = hex::encode(Sha256::digest(reason.as_bytes()));
        let key = format!("refused/{}", &digest[..8]);
        let line = format!("a claim of this step was refused: {reason}\n");
        context.remark_once(&key, &line).await
    }
}

impl Orchestrator {
    pub(crate) async fn follow(
        &self,
        context: &StepContext<'_>,
        placement: &StepPlacement,
    ) -> Result<FollowEnd> {
        let output = OutputLog::new(context, &placement.handle, self.parts.patience.output);
        let work = Work {
            order: placement.record.order.clone(),
            epoch: context.lease.epoch,
            output_received: output.resume_from(),
            drops_output: output.is_over(),
        };
        let mut seen = self.parts.workers.watch(&placement.handle);
        seen.mark_changed();
        let mut watching = StepWatch {
            session: self.parts.hub.attach(placement.handle.clone(), work),
            seen,
            output,
            connected: false,
            deadline: None,
            stopping: false,
            last_remark: String::new(),
            refusals: BTreeSet::new(),
            crowded: None,
        };
        loop {
            match self.next_outcome(context, placement, &mut watching).await? {
                EventOutcome::Continue => {}
                EventOutcome::ProcessEnded(exit) => {
                    return self.conclude(context, placement, watching, exit).await;
                }
                EventOutcome::Lost(_) if watching.stopping => {
                    let result = StepResult::ended(StepEnd::Stopped(()));
                    let held = placement.hold(Some(watching.session)).lost();
                    return Ok(FollowEnd::Ended(result, held));
                }
                EventOutcome::Lost(loss) => {
                    let held = placement.hold(Some(watching.session));
                    return Ok(FollowEnd::Lost { loss, held });
                }
                EventOutcome::Ended(end) => {
                    let result = StepResult::ended(end);
                    return Ok(FollowEnd::Ended(
                        result,
                        placement.hold(Some(watching.session)),
                    ));
                }
            }
        }
    }

    async fn next_outcome(
        &self,
        context: &StepContext<'_>,
        placement: &StepPlacement,
        watching: &mut StepWatch<'_>,
    ) -> Result<EventOutcome> {
        let deadline = watching.deadline.as_ref().map(|(when, _)| *when);
        let next_try = watching.crowded.as_ref().map(|crowded| crowded.next_try);
        tokio::select! {
            biased;
            event = watching.session.next() => self.handle_session_event(context, placement, watching, event).await,
            changed = watching.seen.changed() => match changed {
                Ok(()) => {
                    let seen = watching.seen.borrow_and_update().clone();
                    self.handle_observation(context, placement, watching, seen).await
                }
                Err(_) => {
                    let loss = StepLoss::new(Cause::Removed, "its worker was removed");
                    Ok(EventOutcome::Lost(loss))
                }
            },
            () = context.cancel.cancelled(), if !watching.stopping => {
                self.stop(placement, watching).await
            }
            () = sleep_until(next_try) => {
                if let Some(crowded) = &mut watching.crowded {
                    crowded.next_try = Instant::now() + NEXT_ROOM;
                    self.make_room(placement, &crowded.shortage).await?;
                }
                Ok(EventOutcome::Continue)
            }
            () = sleep_until(deadline) => {
                Ok(match watching.deadline.take() {
                    Some((_, loss)) => EventOutcome::Lost(loss),
                    None => EventOutcome::Continue,
                })
            }
        }
    }

    /// Takes in what the shim says.
    async fn handle_session_event(
        &self,
        context: &StepContext<'_>,
        placement: &StepPlacement,
        watching: &mut StepWatch<'_>,
        event: SessionEvent,
    ) -> Result<EventOutcome> {
        match event {
            SessionEvent::Connected => {
                // A shim that talks outranks whatever is said about its machine.
                watching.connected = true;
                watching.deadline = None;
            }
            SessionEvent::Started => {
                placement.container_ref.log_decision("step started");
                let event = context.request.start_event.clone();
                context.log.append(&context.key("start"), 1, event).await?;
                self.parts.store.step_changed(context.lease.build);
            }
            SessionEvent::Output(output) => {
                watching.output.take(output, &watching.session).await?;
            }
            SessionEvent::Finished(exit) => return Ok(EventOutcome::ProcessEnded(exit)),
            SessionEvent::Disconnected => {
                watching.connected = false;
                let seen = watching.seen.borrow().clone();
                self.update_deadline(placement, watching, seen);
            }
            SessionEvent::Refused { reason } => watching.log_refusal(context, reason).await?,
            SessionEvent::Unfit { reason } => {
                if self.parts.store.revoke_unclaimed(&placement.handle).await? {
                    placement.container_ref.log_state("destroying");
                    return Ok(EventOutcome::Ended(StepEnd::Errored(reason)));
                }
            }
        }
        Ok(EventOutcome::Continue)
    }

    /// Takes in what the runtime sees.
    async fn handle_observation(
        &self,
        context: &StepContext<'_>,
        placement: &StepPlacement,
        watching: &mut StepWatch<'_>,
        seen: Option<Observed>,
    ) -> Result<EventOutcome> {
        watching.crowded = match &seen {
            Some(Observed::Pending {
                cause: Cause::NoRoom { shortage },
                ..
            }) => {
                let before = watching.crowded.take();
                Some(Crowded {
                    shortage: shortage.clone(),
                    next_try: before.map_or_else(Instant::now, |before| before.next_try),
                })
            }
            _ => None,
        };
        if let Some(Observed::Pending { reason, .. }) = &seen
            && !reason.is_empty()
            && *reason != watching.last_remark
        {
            watching.last_remark.clone_from(reason);
            self.remark(context, &format!("waiting: {reason}\n"))
                .await?;
        }
        // Nothing has run, and nothing will.
        if let Some(Observed::Doomed { reason, .. }) = &seen
            && self.parts.store.revoke_unclaimed(&placement.handle).await?
        {
            placement.container_ref.log_state("destroying");
            return Ok(EventOutcome::Ended(StepEnd::Errored(reason.clone())));
        }
        self.update_deadline(placement, watching, seen);
        Ok(EventOutcome::Continue)
    }

    /// Sets or lifts the deadline for a step that is out of sight.
    fn update_deadline(
        &self,
        placement: &StepPlacement,
        watching: &mut StepWatch<'_>,
        seen: Option<Observed>,
    ) {
        let on =
            |node: Option<String>| node.map_or(String::new(), |node| format!(" on node {node}"));
        let (patience, loss) = match seen {
            Some(Observed::Gone {
                node,
                reason,
                cause,
            }) => {
                let patience = if watching.connected {
                    LAST_WORDS
                } else {
                    Duration::ZERO
                };
                let reason = format!("{reason}{}", on(node));
                (patience, StepLoss::new(cause, reason))
            }
            Some(Observed::Silent { reason, .. }) if !watching.connected => {
                let patience = placement.worker.runtime.capabilities().lost_after;
                (patience, StepLoss::new(Cause::Other, reason))
            }
            _ if watching.stopping => return,
            _ => return watching.deadline = None,
        };
        if watching.deadline.is_none() {
            watching.deadline = Some((
                airside_model::deadline_after(Instant::now(), patience),
                loss,
            ));
        }
    }

    /// The build wants the step to end.
    async fn stop(
        &self,
        placement: &StepPlacement,
        watching: &mut StepWatch<'_>,
    ) -> Result<EventOutcome> {
        watching.stopping = true;
        if self.parts.store.revoke_unclaimed(&placement.handle).await? {
            placement.container_ref.log_state("destroying");
            return Ok(EventOutcome::Ended(StepEnd::Stopped(())));
        }
        let grace = self.parts.patience.stop_grace;
        watching.session.stop(grace.as_secs());
        // A shim that cannot be reached cannot be stopped gently.
        let patience = airside_model::deadline_after(grace, self.parts.patience.lost_after);
        watching.deadline = Some((
            airside_model::deadline_after(Instant::now(), patience),
            StepLoss::new(Cause::Other, "it did not stop"),
        ));
        Ok(EventOutcome::Continue)
    }

    /// The process has ended: its outputs become volumes.
    async fn conclude(
        &self,
        context: &StepContext<'_>,
        placement: &StepPlacement,
        watching: StepWatch<'_>,
        exit: Exit,
    ) -> Result<FollowEnd> {
        let runtime = &placement.worker.runtime;
        let ContainerRef { worker, handle, .. } = &placement.container_ref;
        info!(
            build = %context.lease.build, step = %context.request.plan, %worker, %handle, ?exit,
            "step ended"
        );
        let no_answer = watching.output.no_answer();
        let answer = watching.output.finish().await?;
        let end = match exit {
            Exit::Code(0) => no_answer.map_or(StepEnd::Exited(0), StepEnd::Errored),
            Exit::Code(code) => StepEnd::Exited(code),
            Exit::Signal(signal) => {
                let line = format!("the process was killed by signal {signal}\n");
                context.remark_once("signal", &line).await?;
                StepEnd::Exited(128 + signal)
            }
            Exit::NotFound(words) | Exit::Broken(words) => StepEnd::Errored(words),
            Exit::Stopped => StepEnd::Stopped(()),
            Exit::TakenAway => {
                // The shim stays until this is known: a runtime may report no more of one that has
                // ended.
                let loss = taken_away(watching.seen).await;
                let held = placement.hold(Some(watching.session));
                return Ok(FollowEnd::Lost { loss, held });
            }
            Exit::Fenced => StepEnd::Errored(
                "the step was ended because it could not reach the hub for too long".to_owned(),
            ),
        };
        let (mut end, mut outputs) = (end, Vec::new());
        for (_, transfer) in &placement.record.outputs {
            if runtime.capabilities().mounts_volumes {
                let sealed = runtime.seal(&placement.handle, &transfer.path, &transfer.volume);
                if let Err(error) = sealed.await {
                    placement
                        .container_ref
                        .log_failure(&error, "output not sealed");
                    if !self.was_ended(&placement.handle) {
                        return Err(error.into());
                    }
                    let held = placement.hold(Some(watching.session));
                    let loss = StepLoss::by_error(Cause::Removed, &error);
                    return Ok(FollowEnd::Lost { loss, held });
                }
            }
        }
        if let Some(over_quota) = self.weigh_outputs(context, placement).await? {
            end = over_quota;
        }
        for (name, transfer) in &placement.record.outputs {
            if self.parts.volumes.exists(&transfer.volume) {
                outputs.push((name.clone(), transfer.volume.clone()));
            }
        }
        let held = placement.hold(Some(watching.session));
        Ok(FollowEnd::Ended(
            StepResult {
                end,
                answer,
                outputs,
            },
            held,
        ))
    }
}

/// Returns the loss of a container that was asked to end, with the reason that its runtime may
/// know.
async fn taken_away(mut seen: watch::Receiver<Option<Observed>>) -> StepLoss {
    let explained = seen.wait_for(|seen| explanation(seen.as_ref()).is_some());
    let explained = tokio::time::timeout(EXPLANATION, explained).await;
    let explained = explained.ok().and_then(Result::ok).map(|seen| seen.clone());
    let last = explained.unwrap_or_else(|| seen.borrow().clone());
    let place = node(last.as_ref()).map_or(String::new(), |node| format!(" on node {node}"));
    let why = explanation(last.as_ref()).map_or(String::new(), |why| format!(": {why}"));
    let reason = format!("its container was taken away{place} while it ran{why}");
    let cause = match last {
        Some(Observed::Gone { cause, .. }) => cause,
        Some(Observed::Leaving { .. }) => Cause::Evicted,
        _ => Cause::Other,
    };
    StepLoss { cause, reason }
}

fn node(seen: Option<&Observed>) -> Option<&str> {
    match seen? {
        Observed::Started { node }
        | Observed::Leaving { node, .. }
        | Observed::Silent { node, .. }
        | Observed::Gone { node, .. } => node.as_deref(),
        Observed::Pending { .. } | Observed::Doomed { .. } => None,
    }
}

/// Returns the runtime's reason why a container was taken away. The exit of a shim that was asked
/// to end explains nothing.
fn explanation(seen: Option<&Observed>) -> Option<&str> {
    match seen? {
        Observed::Gone {
            cause: Cause::Exited { .. },
            ..
        } => None,
        Observed::Leaving { reason, .. } | Observed::Gone { reason, .. } => Some(reason),
        _ => None,
    }
}

async fn sleep_until(when: Option<Instant>) {
    match when {
        Some(when) => tokio::time::sleep_until(when).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_by_a_full_disk_says_so() {
        let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
        let error = crate::Error::from(airside_volumes::Error::Disk {
            action: "write",
            path: "/data/volumes/v1".into(),
            source,
        });
        let loss = StepLoss::by_error(Cause::Removed, &error);
        assert!(
            loss.reason.contains("cannot write /data/volumes/v1"),
            "{loss:?}"
        );
        assert!(loss.reason.contains("no storage space"), "{loss:?}");
    }

    #[test]
    fn who_took_a_container_away_is_told_where_it_is_known() {
        let reason = "the container exited with code 0";
        let gone = |cause: Cause| Observed::Gone {
            node: None,
            reason: reason.to_owned(),
            cause,
        };
        for unknown in [
            Observed::Started { node: None },
            gone(Cause::Exited { code: Some(0) }),
            gone(Cause::Exited { code: None }),
        ] {
            assert_eq!(explanation(Some(&unknown)), None);
        }
        assert_eq!(explanation(None), None);
        for cause in [Cause::Evicted, Cause::Removed, Cause::Other] {
            assert_eq!(explanation(Some(&gone(cause))), Some(reason));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_a_running_container_away_is_told_at_once_with_its_node() {
        let leaving = Observed::Leaving {
            node: Some("n1".to_owned()),
            reason: "the pod was evicted".to_owned(),
        };
        let (_told, seen) = watch::channel(Some(leaving));
        let before = Instant::now();
        let loss = taken_away(seen).await;
        assert_eq!(
            loss,
            StepLoss::new(
                Cause::Evicted,
                "its container was taken away on node n1 while it ran: the pod was evicted"
            )
        );
        assert_eq!(before.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_container_that_ends_unexplained_still_names_its_node() {
        let node = Some("n1".to_owned());
        let (_told, seen) = watch::channel(Some(Observed::Started { node }));
        let loss = taken_away(seen).await;
        assert_eq!(
            loss.reason,
            "its container was taken away on node n1 while it ran"
        );
    }
}
