//! Reports that the hub does not have yet. The step's life puts them here; the control connection,
//! whichever one there is at the moment, takes them to the hub and removes those that the hub has.

use std::sync::{Mutex, MutexGuard, PoisonError};

use airside_model::event::Source;
use airside_protocol::{Exit, codec};
use tokio::{
    sync::{Notify, watch},
    time::{Duration, Instant, sleep_until},
};

use crate::spool::Spool;

pub(crate) struct Outbox {
    state: Mutex<State>,
    /// There is something new to send.
    news: Notify,
    /// There is room for more output.
    room: Notify,
    session: watch::Sender<Option<String>>,
    heard: watch::Sender<Instant>,
}

struct State {
    spool: Spool,
    started: bool,
    exit: Option<Exit>,
    committed: bool,
}

impl Outbox {
    pub(crate) fn new(spool: Spool) -> Self {
        Self {
            state: Mutex::new(State {
                spool,
                started: false,
                exit: None,
                committed: false,
            }),
            news: Notify::new(),
            room: Notify::new(),
            session: watch::Sender::new(None),
            heard: watch::Sender::new(Instant::now()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while holding it; and a torn state would only be resent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // For the life of the step.

    pub(crate) fn started(&self) {
        self.state().started = true;
        self.news.notify_one();
    }

    pub(crate) fn finished(&self, exit: Exit) {
        self.state().exit = Some(exit);
        self.news.notify_one();
    }

    pub(crate) fn output(&self, source: Source, data: &[u8]) {
        self.state().spool.append(source, data);
        self.news.notify_one();
    }

    /// Waits until the spool takes more output.
    pub(crate) async fn room(&self) {
        loop {
            let freed = self.room.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            if self.state().spool.has_room() {
                return;
            }
            freed.await;
        }
    }

    /// The key to volume connections, as of the latest claim.
    pub(crate) fn session(&self) -> String {
        self.session.borrow().clone().unwrap_or_default()
    }

    /// Returns once nothing came from the hub for `limit`.
    pub(crate) async fn unheard_for(&self, limit: Duration) {
        loop {
            let deadline = airside_model::deadline_after(*self.heard.borrow(), limit);
            if deadline <= Instant::now() {
                return;
            }
            sleep_until(deadline).await;
        }
    }

    // For the control connection.

    pub(crate) fn heard(&self) {
        self.heard.send_replace(Instant::now());
    }

    pub(crate) fn opened(&self, session: String) {
        self.session.send_replace(Some(session));
    }

    pub(crate) async fn news(&self) {
        self.news.notified().await;
    }

    pub(crate) fn is_started(&self) -> bool {
        self.state().started
    }

    /// Appends the message of the output from `offset` on, as much as fits into one, to `frame`.
    /// Returns the offset at which it ends.
    pub(crate) fn put_output(
        &self,
        offset: u64,
        frame: &mut Vec<u8>,
    ) -> std::io::Result<Option<u64>> {
        let mut state = self.state();
        Ok(state.spool.read(offset)?.map(|piece| {
            codec::put_output(frame, piece.offset, piece.source, &piece.data);
            piece.offset + piece.data.len() as u64
        }))
    }

    /// The offset of the first byte that can still be sent.
    pub(crate) fn first_offset(&self) -> u64 {
        self.state().spool.start()
    }

    /// Notes that the hub has the output up to here: nothing below is needed any more. Returns
    /// false if there is not that much.
    pub(crate) fn acknowledged(&self, offset: u64) -> bool {
        let possible = self.state().spool.acknowledge(offset);
        self.room.notify_waiters();
        possible
    }

    /// Returns the result, once all output up to `sent` is all there is and as long as the hub does
    /// not have it.
    pub(crate) fn result(&self, sent: u64) -> Option<Exit> {
        let state = self.state();
        if state.committed || state.spool.end() != sent {
            return None;
        }
        state.exit.clone()
    }

    /// The result is committed, and with it everything that was written.
    pub(crate) fn committed(&self) {
        let mut state = self.state();
        state.committed = true;
        let end = state.spool.end();
        state.spool.acknowledge(end);
    }

    pub(crate) fn is_committed(&self) -> bool {
        self.state().committed
    }
}
