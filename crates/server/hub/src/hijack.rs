//! Hijacks: a person's process in a step's container. The person's side asks, the shim answers on a
//! connection of its own, and the two are joined here.
//!
//! ```text
//! Hub::hijack ──▶ Calls (of the step's slot) ──control──▶ shim
//!      ▲                                                    │
//!      └────────────── answer: a new connection ◀───────────┘
//! ```
//!
//! The permission to do this is checked elsewhere.

mod conversation;

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicUsize, atomic::Ordering},
    time::Duration,
};

use airside_model::{ContainerState, Handle, chain, event::Source};
use airside_protocol::{Exit, HIJACK_PROTOCOL, Hijack as Asked, Tty};
use airside_store::Container;
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};
use tracing::{debug, info, warn};

use crate::{
    Hub, Parts,
    claim::hash,
    connection::{Receiver, Sender},
    session::Sessions,
};

/// Time that a shim has to answer, reconnecting included.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// So many people at once in one container; each has a process and a connection.
const LIMIT: usize = 32;

/// Pieces of output between the shim and the person. A slow reader makes the process wait.
const DEPTH: usize = 16;

#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum HijackError {
    #[error("the container is not there any more")]
    Gone,
    #[error(
        "the container was made by an older Airside, which cannot be intercepted: run the step again"
    )]
    TooOld,
    #[error("{LIMIT} people or programs intercept this container already: end one intercept")]
    TooMany,
    #[error("the container does not answer: its machine may be away")]
    Silent,
    #[error("the container is connected, but does not answer: its machine may be very busy")]
    Busy,
}

/// The process that is wanted; what is absent is as for the step's own.
#[derive(Clone, Debug, Default)]
pub struct HijackRequest {
    pub path: String,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    pub dir: Option<String>,
    pub user: Option<String>,
    pub tty: Option<Tty>,
    /// True if the process has a folder for temporary files that goes with it.
    pub scratch: bool,
}

/// An event of the process.
#[derive(Clone, Debug, PartialEq)]
pub enum HijackEvent {
    Started,
    Output(Source, Bytes),
    /// The last word.
    Exited(Exit),
    /// The connection failed before the process ended; it is killed.
    Lost(String),
}

#[derive(Clone, Debug, PartialEq)]
pub enum HijackInput {
    Bytes(Bytes),
    Close,
    Resize(Tty),
}

/// A conversation with a process. Dropping it kills the process.
pub struct Hijack {
    pub events: mpsc::Receiver<HijackEvent>,
    pub inputs: mpsc::Sender<HijackInput>,
}

type Answer = Result<(Receiver, Sender), HijackError>;

struct Pending {
    asked: Asked,
    answer: oneshot::Sender<Answer>,
}

/// The hijacks that a step's shim is to answer.
#[derive(Default)]
pub(crate) struct Calls {
    pending: Mutex<BTreeMap<String, Pending>>,
    news: watch::Sender<u64>,
    running: Arc<AtomicUsize>,
}

/// Counts one hijack for as long as it lasts.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Calls {
    fn enter(&self) -> Option<Place> {
        let place = Place(self.running.clone());
        (self.running.fetch_add(1, Ordering::AcqRel) < LIMIT).then_some(place)
    }

    fn ask(&self, asked: Asked) -> oneshot::Receiver<Answer> {
        let (answer, answered) = oneshot::channel();
        let id = asked.id.clone();
        self.pending.lock().insert(id, Pending { asked, answer });
        self.news.send_modify(|count| *count += 1);
        answered
    }

    /// Returns a watch that changes with every new hijack.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// Returns true if a shim's connection listens.
    fn is_heard(&self) -> bool {
        self.news.receiver_count() > 0
    }

    /// Returns the hijacks that a shim of this protocol is to get; those that it would not
    /// understand are refused.
    pub(crate) fn unanswered(&self, protocol: u32) -> Vec<Asked> {
        let mut pending = self.pending.lock();
        pending.retain(|_, call| !call.answer.is_closed());
        if protocol >= HIJACK_PROTOCOL {
            return pending.values().map(|call| call.asked.clone()).collect();
        }
        for (_, call) in std::mem::take(&mut *pending) {
            let _ = call.answer.send(Err(HijackError::TooOld));
        }
        Vec::new()
    }

    fn take(&self, id: &str) -> Option<oneshot::Sender<Answer>> {
        self.pending.lock().remove(id).map(|call| call.answer)
    }
}

impl Hub {
    /// Starts a person's process in the container of a step whose shim is, or soon will be,
    /// connected.
    pub async fn hijack(
        &self,
        handle: &Handle,
        request: HijackRequest,
    ) -> Result<Hijack, HijackError> {
        let slot = self.sessions().get(handle).ok_or(HijackError::Gone)?;
        let place = slot.calls.enter().ok_or(HijackError::TooMany)?;
        info!(%handle, "container intercepted");
        self.run_beside(handle, request, Some(place)).await
    }

    /// Starts a process of the server itself, which limits their number on its own.
    pub async fn run_guest(
        &self,
        handle: &Handle,
        request: HijackRequest,
    ) -> Result<Hijack, HijackError> {
        self.run_beside(handle, request, None).await
    }

    async fn run_beside(
        &self,
        handle: &Handle,
        request: HijackRequest,
        place: Option<Place>,
    ) -> Result<Hijack, HijackError> {
        let slot = self.sessions().get(handle).ok_or(HijackError::Gone)?;
        let id = hex::encode(rand::random::<[u8; 16]>());
        let answered = slot.calls.ask(Asked {
            id: id.clone(),
            path: request.path,
            args: request.args,
            env: request.env,
            dir: request.dir,
            user: request.user,
            tty: request.tty,
            scratch: request.scratch,
        });
        let (receiver, sender) = match tokio::time::timeout(ANSWER_TIMEOUT, answered).await {
            Ok(Ok(answer)) => answer?,
            Ok(Err(_)) => return Err(HijackError::Gone),
            Err(_) => {
                slot.calls.take(&id);
                return Err(if slot.calls.is_heard() {
                    HijackError::Busy
                } else {
                    HijackError::Silent
                });
            }
        };
        debug!(%handle, hijack = id, "guest started");
        let (said, events) = mpsc::channel(DEPTH);
        let (inputs, typed) = mpsc::channel(DEPTH);
        let handle = handle.clone();
        airside_tasks::spawn("hijack", async move {
            conversation::hold(receiver, sender, said, typed).await;
            debug!(%handle, hijack = id, "guest ended");
            drop(place);
        });
        Ok(Hijack { events, inputs })
    }
}

/// The connection with which a shim answers.
pub(crate) struct Answered {
    pub(crate) handle: Handle,
    pub(crate) session: String,
    pub(crate) id: String,
}

/// Gives the connection to the caller that asked for it.
pub(crate) async fn answer(
    parts: &Parts,
    sessions: &Sessions,
    answered: Answered,
    mut receiver: Receiver,
    mut sender: Sender,
) {
    let handle = &answered.handle;
    let session = hash(&answered.session);
    match parts.store.session_is_valid(handle, &session).await {
        Ok(true) => receiver.is_known(),
        Ok(false) => {
            // Its pipeline is gone, say: the caller need not wait. A stranger that answers for a
            // step changes nothing.
            if is_gone(parts, handle).await
                && let Some(waiting) = waiting(sessions, &answered)
            {
                let _ = waiting.send(Err(HijackError::Gone));
            }
            return sender.refuse("the session is not valid", false).await;
        }
        Err(error) => {
            warn!(%handle, error = %chain(&error), "answer of an intercept refused: the store does not answer");
            return sender.refuse("the hub cannot judge sessions", false).await;
        }
    }
    let Some(waiting) = waiting(sessions, &answered) else {
        return sender
            .refuse("no intercept waits for this answer", false)
            .await;
    };
    if let Err(Ok((_, mut sender))) = waiting.send(Ok((receiver, sender))) {
        sender
            .refuse("the intercept no longer waits for this answer", false)
            .await;
    }
}

/// Returns true if no shim can answer for the container any more.
async fn is_gone(parts: &Parts, handle: &Handle) -> bool {
    let lives = |container: Container| {
        matches!(
            container.state,
            ContainerState::Creating | ContainerState::Created
        )
    };
    let container = parts.store.container(handle).await;
    container.is_ok_and(|container| !container.is_some_and(lives))
}

/// Takes the caller that waits for this answer; only the container that was asked knows of it.
fn waiting(sessions: &Sessions, answered: &Answered) -> Option<oneshot::Sender<Answer>> {
    let slot = sessions.get(&answered.handle)?;
    slot.calls.take(&answered.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(id: &str) -> Asked {
        Asked {
            id: id.to_owned(),
            path: "sh".to_owned(),
            args: vec![],
            env: vec![],
            dir: None,
            user: None,
            tty: None,
            scratch: false,
        }
    }

    #[test]
    fn only_so_many_may_be_in_at_once() {
        let calls = Calls::default();
        let places: Vec<_> = (0..LIMIT).map(|_| calls.enter().unwrap()).collect();
        assert!(calls.enter().is_none());
        drop(places);
        assert!(calls.enter().is_some());
    }

    #[test]
    fn calls_are_told_until_they_are_answered_or_given_up() {
        let calls = Calls::default();
        let first = calls.ask(asked("1"));
        let _second = calls.ask(asked("2"));
        assert_eq!(calls.unanswered(HIJACK_PROTOCOL).len(), 2);
        assert_eq!(calls.unanswered(HIJACK_PROTOCOL).len(), 2);
        drop(first);
        assert_eq!(calls.unanswered(HIJACK_PROTOCOL), [asked("2")]);
        assert!(calls.take("2").is_some());
        assert!(calls.take("2").is_none());
    }

    #[test]
    fn old_shims_are_not_asked() {
        let calls = Calls::default();
        let mut answered = calls.ask(asked("1"));
        assert!(calls.unanswered(HIJACK_PROTOCOL - 1).is_empty());
        assert!(matches!(answered.try_recv(), Ok(Err(HijackError::TooOld))));
    }
}
