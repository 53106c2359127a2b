//! One reader's end of the stream.

use std::{sync::Arc, time::Duration};

use airside_store::now;
use bytes::Bytes;
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use crate::{
    Live, ReaderRights,
    board::{ReaderId, ReaderStep},
    patch::frame,
};

/// Time without an event after which one is sent to show that the connection lives.
pub(crate) const BEAT: Duration = Duration::from_secs(15);

/// Time after which rights are judged again, whatever happened.
const JUDGE_INTERVAL: Duration = Duration::from_secs(60);

/// A reader of some topics, until this is dropped.
pub struct LiveReader {
    live: Live,
    id: ReaderId,
    notify: Arc<Notify>,
    beat_at: Instant,
    judge_at: Instant,
}

/// The next thing to do for a reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiveStep {
    Send(Bytes),
    /// The reader's rights are to be judged, and told by [`LiveReader::judged`]. Until then nothing
    /// is sent.
    Judge,
}

impl LiveReader {
    pub(crate) fn new(live: Live, id: ReaderId, notify: Arc<Notify>) -> Self {
        let now = Instant::now();
        Self {
            live,
            id,
            notify,
            beat_at: now + BEAT,
            judge_at: now + JUDGE_INTERVAL,
        }
    }

    /// Returns the next thing to do, as soon as there is one.
    pub async fn next(&mut self) -> LiveStep {
        loop {
            if self.judge_at <= Instant::now() {
                return LiveStep::Judge;
            }
            match self.live.take(self.id) {
                ReaderStep::Judge => return LiveStep::Judge,
                ReaderStep::Send(event) => {
                    self.beat_at = Instant::now() + BEAT;
                    return LiveStep::Send(event);
                }
                ReaderStep::Wait => {}
            }
            tokio::select! {
                () = self.notify.notified() => {}
                () = sleep_until(self.judge_at) => {}
                () = sleep_until(self.beat_at) => {
                    self.beat_at = Instant::now() + BEAT;
                    let data = format!(r#"{{"now":{}}}"#, now().seconds());
                    return LiveStep::Send(frame(None, "beat", &data));
                }
            }
        }
    }

    /// Waits until there may be something new for the reader.
    pub(crate) async fn changed(&self) {
        self.notify.notified().await;
    }

    /// Takes over the rights as they were judged just now.
    pub fn judged(&mut self, rights: ReaderRights) {
        self.judge_at = Instant::now() + JUDGE_INTERVAL;
        self.live.judged(self.id, rights);
    }
}

impl Drop for LiveReader {
    fn drop(&mut self) {
        self.live.leave(self.id);
    }
}
