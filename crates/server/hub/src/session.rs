//! A step's driver and its shim, joined across reconnections.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use airside_model::Handle;
use airside_protocol::{Exit, Order, Output};
use bytes::BytesMut;
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::hijack::Calls;

/// Bytes of output that are put together before they are passed on.
const AT_ONCE: usize = 1024 * 1024;

/// Number of messages that wait for a busy driver: as much again where a shim has much to say.
const WAITING: usize = 32;

/// The work that a driver gives its shim.
#[derive(Clone, Debug)]
pub struct Work {
    pub order: Order,
    pub epoch: i64,
    /// Output below this offset is durable already (from before a resume).
    pub output_received: u64,
    /// Output is dropped: bytes that the shim has forgotten are missed by no driver.
    pub drops_output: bool,
}

/// An event of a shim, for its driver.
#[derive(Debug)]
pub enum SessionEvent {
    /// A shim has claimed the step, or come back.
    Connected,
    Started,
    /// Output of the step, without gaps or repetition, whatever the connection went through.
    Output(Output),
    /// The step has ended. May come more than once.
    Finished(Exit),
    Disconnected,
    /// A shim without the right to the step tried to claim it.
    Refused {
        reason: String,
    },
    /// The step's own shim came, and cannot do its work: another one of its kind could not either.
    Unfit {
        reason: String,
    },
}

/// The directives for a shim so far; a connection sends those that are new.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Directive {
    pub(crate) acked: u64,
    pub(crate) stop: Option<u64>,
    pub(crate) committed: bool,
    pub(crate) exit: bool,
}

/// The meeting point of one step.
pub(crate) struct Slot {
    pub(crate) work: Work,
    pub(crate) events: mpsc::Sender<SessionEvent>,
    pub(crate) directive: watch::Sender<Directive>,
    /// Output below this offset has been passed to the driver.
    pub(crate) forwarded: AtomicU64,
    /// Grows with every claim, so that an older connection knows it has been replaced.
    pub(crate) generation: watch::Sender<u64>,
    pub(crate) calls: Calls,
    /// Cancelled once a kept container is needed no more.
    pub(crate) let_go: CancellationToken,
}

#[derive(Clone, Default)]
pub(crate) struct Sessions(Arc<Registry>);

#[derive(Default)]
struct Registry {
    slots: Mutex<HashMap<Handle, Arc<Slot>>>,
    attached: watch::Sender<u64>,
}

impl Sessions {
    pub(crate) fn attach(&self, handle: Handle, work: Work) -> Session {
        let (events, receiver) = mpsc::channel(WAITING);
        let slot = Arc::new(Slot {
            forwarded: AtomicU64::new(work.output_received),
            directive: watch::Sender::new(Directive {
                acked: work.output_received,
                ..Directive::default()
            }),
            generation: watch::Sender::new(0),
            calls: Calls::default(),
            let_go: CancellationToken::new(),
            work,
            events,
        });
        self.0.slots.lock().insert(handle.clone(), slot.clone());
        self.0.attached.send_modify(|count| *count += 1);
        Session {
            handle,
            slot,
            events: receiver,
            following: None,
            sessions: self.clone(),
        }
    }

    pub(crate) fn get(&self, handle: &Handle) -> Option<Arc<Slot>> {
        self.0.slots.lock().get(handle).cloned()
    }

    /// The step's slot, once a driver has attached to it: after a restart shims are often first.
    pub(crate) async fn wait(
        &self,
        handle: &Handle,
        patience: std::time::Duration,
    ) -> Option<Arc<Slot>> {
        let mut attached = self.0.attached.subscribe();
        let found = async {
            loop {
                attached.mark_unchanged();
                if let Some(slot) = self.get(handle) {
                    return Some(slot);
                }
                attached.changed().await.ok()?;
            }
        };
        tokio::time::timeout(patience, found).await.ok().flatten()
    }

    fn detach(&self, handle: &Handle, slot: &Arc<Slot>) {
        let mut slots = self.0.slots.lock();
        if slots
            .get(handle)
            .is_some_and(|current| Arc::ptr_eq(current, slot))
        {
            slots.remove(handle);
        }
    }
}

/// A driver's side of a step. Dropping it detaches; the shim then waits for the next driver.
pub struct Session {
    handle: Handle,
    slot: Arc<Slot>,
    events: mpsc::Receiver<SessionEvent>,
    /// Came after output that was put together.
    following: Option<SessionEvent>,
    sessions: Sessions,
}

impl Session {
    /// Returns the next event. Output that has come meanwhile is one event: a terminal gives a few
    /// kilobytes at a time, and making them durable costs the same each time. Safe to cancel.
    pub async fn next(&mut self) -> SessionEvent {
        let event = match self.following.take() {
            Some(event) => event,
            // The slot holds a sender for as long as this session exists.
            None => self
                .events
                .recv()
                .await
                .unwrap_or(SessionEvent::Disconnected),
        };
        match event {
            SessionEvent::Output(output) => SessionEvent::Output(self.with_following(output)),
            other => other,
        }
    }

    fn with_following(&mut self, first: Output) -> Output {
        let mut data = BytesMut::from(first.data);
        while data.len() < AT_ONCE {
            match self.events.try_recv() {
                Ok(SessionEvent::Output(next)) if next.source == first.source => {
                    data.extend_from_slice(&next.data);
                }
                Ok(other) => {
                    self.following = Some(other);
                    break;
                }
                Err(_) => break,
            }
        }
        Output {
            data: data.freeze(),
            ..first
        }
    }

    /// Output below this offset is durable.
    pub fn acknowledge(&self, offset: u64) {
        self.direct(|directive| directive.acked = directive.acked.max(offset));
    }

    pub fn stop(&self, grace_seconds: u64) {
        self.direct(|directive| {
            directive.stop.get_or_insert(grace_seconds);
        });
    }

    /// Dismisses the shim: the result is committed and the container is needed no more.
    pub fn dismiss(self) {
        self.direct(|directive| {
            directive.committed = true;
            directive.exit = true;
        });
    }

    /// The result is committed, and the shim stays for those who want to look inside, until
    /// [`crate::Hub::let_go`]. To be called within a tokio runtime.
    pub fn keep(mut self) {
        self.direct(|directive| directive.committed = true);
        airside_tasks::spawn("kept session", async move {
            let let_go = self.slot.let_go.clone();
            while let Some(event) = let_go.run_until_cancelled(self.next()).await {
                // Nothing of a committed step is waited for any more.
                if let SessionEvent::Output(output) = event {
                    self.acknowledge(output.offset + output.data.len() as u64);
                }
            }
            self.dismiss();
        });
    }

    fn direct(&self, change: impl FnOnce(&mut Directive)) {
        self.slot.directive.send_modify(change);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.sessions.detach(&self.handle, &self.slot);
    }
}

impl Slot {
    /// Returns true if the shim has nothing more to do: its end, whichever way it comes, is no
    /// fault.
    pub(crate) fn is_dismissed(&self) -> bool {
        self.directive.borrow().exit || self.let_go.is_cancelled()
    }

    /// Cuts off what the driver has already, and counts the rest as passed on.
    pub(crate) fn fresh(&self, mut output: Output) -> Result<Option<Output>, Gap> {
        let forwarded = self.forwarded.load(Ordering::Acquire);
        let end = output.offset + output.data.len() as u64;
        if output.offset > forwarded && self.work.drops_output {
            self.forwarded.store(end, Ordering::Release);
            return Ok(Some(output));
        }
        if output.offset > forwarded {
            return Err(Gap {
                expected: forwarded,
                found: output.offset,
            });
        }
        if end <= forwarded {
            return Ok(None);
        }
        let known = (forwarded - output.offset) as usize;
        output.data = output.data.slice(known..);
        output.offset = forwarded;
        self.forwarded.store(end, Ordering::Release);
        Ok(Some(output))
    }
}

/// A shim skipped output: it must send again from what was acknowledged.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) expected: u64,
    pub(crate) found: u64,
}

#[cfg(test)]
mod tests {
    use airside_model::event::Source;
    use airside_protocol::Executable;
    use bytes::Bytes;

    use super::*;

    fn slot() -> Session {
        slot_that(false)
    }

    fn slot_that(drops_output: bool) -> Session {
        let order = Order {
            run: Executable::Shim,
            args: vec![],
            env: vec![],
            dir: "/".into(),
            user: None,
            tty: None,
            stdin: None,
            image: None,
            fetch: vec![],
            make_dirs: vec![],
            mounted: Vec::new(),
            hermetic: false,
            upload: vec![],
            fence_after_seconds: 1,
        };
        let work = Work {
            order,
            epoch: 1,
            output_received: 2,
            drops_output,
        };
        Sessions::default().attach(Handle::new("h"), work)
    }

    fn output(offset: u64, data: &'static str) -> Output {
        Output {
            offset,
            source: Source::Stdout,
            data: Bytes::from_static(data.as_bytes()),
        }
    }

    #[test]
    fn a_gap_is_no_loss_where_output_is_dropped() {
        let session = slot_that(true);
        let slot = &session.slot;
        assert_eq!(slot.fresh(output(9, "x")), Ok(Some(output(9, "x"))));
        assert_eq!(slot.fresh(output(9, "xy")), Ok(Some(output(10, "y"))));
    }

    #[test]
    fn resent_output_is_cut_to_what_is_new() {
        let session = slot();
        let slot = &session.slot;
        assert_eq!(slot.fresh(output(0, "ab")), Ok(None));
        assert_eq!(slot.fresh(output(0, "abcd")), Ok(Some(output(2, "cd"))));
        assert_eq!(slot.fresh(output(0, "abcd")), Ok(None));
        assert_eq!(slot.fresh(output(4, "ef")), Ok(Some(output(4, "ef"))));
        assert_eq!(
            slot.fresh(output(9, "x")),
            Err(Gap {
                expected: 6,
                found: 9
            })
        );
    }

    #[test]
    fn a_shim_that_may_go_is_dismissed() {
        let session = slot();
        let slot = session.slot.clone();
        assert!(!slot.is_dismissed());
        session.direct(|directive| directive.committed = true);
        assert!(!slot.is_dismissed(), "it stays for people");
        session.dismiss();
        assert!(slot.is_dismissed());
        let kept = slot_that(false);
        kept.slot.let_go.cancel();
        assert!(kept.slot.is_dismissed(), "its container is being removed");
    }

    #[tokio::test]
    async fn output_that_is_there_comes_at_once_and_the_rest_after_it() {
        let mut session = slot();
        let error = Output {
            source: Source::Stderr,
            ..output(6, "gh")
        };
        for event in [
            SessionEvent::Output(output(2, "cd")),
            SessionEvent::Output(output(4, "ef")),
            SessionEvent::Output(error.clone()),
            SessionEvent::Finished(Exit::Code(0)),
        ] {
            session.slot.events.send(event).await.unwrap();
        }
        let SessionEvent::Output(first) = session.next().await else {
            unreachable!("output comes first")
        };
        assert_eq!(first, output(2, "cdef"));
        let SessionEvent::Output(second) = session.next().await else {
            unreachable!("then what was said on the other stream")
        };
        assert_eq!(second, error);
        assert!(matches!(
            session.next().await,
            SessionEvent::Finished(Exit::Code(0))
        ));
    }
}
