//! A connection's record of whether the server waits for the peer, or the peer for the server.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Time after which a connection that works is looked at again.
const MAX_RECHECK: Duration = Duration::from_secs(5);

/// The reason for which a connection must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectionEnd {
    #[error("the peer kept the server waiting for too long")]
    Overdue,
    #[error("another connection needed the place")]
    GaveWay,
}

/// The state of a connection at the moment. Clones share it.
#[derive(Clone)]
pub struct Activity(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    gave_way: CancellationToken,
}

#[derive(Default)]
struct State {
    /// Requests that are being answered.
    requests: usize,
    /// Since when no request is being answered, and for how long the peer may leave it at that.
    idle: Option<Wait>,
    /// Since when the peer has not sent or taken what the server waits for in the middle of a
    /// request.
    stalled: Option<Wait>,
    /// The connection may wait for as long as it likes.
    kept: bool,
}

#[derive(Clone, Copy)]
struct Wait {
    since: Instant,
    patience: Duration,
}

impl Wait {
    fn begin(patience: Duration) -> Self {
        Self {
            since: Instant::now(),
            patience,
        }
    }
}

impl State {
    fn wait(&self) -> Option<Wait> {
        match (self.kept, self.requests) {
            (true, _) => None,
            (false, 0) => self.idle,
            (false, _) => self.stalled,
        }
    }
}

impl Activity {
    /// A connection that has just come, and has this long for its first request.
    pub(crate) fn new(patience: Duration) -> Self {
        let state = State {
            idle: Some(Wait::begin(patience)),
            ..State::default()
        };
        Self(Arc::new(Shared {
            state: Mutex::new(state),
            gave_way: CancellationToken::new(),
        }))
    }

    /// Marks that the server waits for the peer from now on, for at most `patience`.
    pub fn awaits(&self, patience: Duration) {
        self.0.state.lock().idle = Some(Wait::begin(patience));
    }

    /// A request is being answered until the guard goes. The peer then has `patience` for the next
    /// request.
    pub fn begin(&self, patience: Duration) -> InFlight {
        let mut state = self.0.state.lock();
        state.requests += 1;
        state.stalled = None;
        drop(state);
        InFlight {
            activity: self.clone(),
            patience,
        }
    }

    /// The server waits for the peer in the middle of a request.
    pub fn stalls(&self, patience: Duration) {
        self.0
            .state
            .lock()
            .stalled
            .get_or_insert_with(|| Wait::begin(patience));
    }

    /// The peer sent or took something.
    pub fn moves(&self) {
        self.0.state.lock().stalled = None;
    }

    /// Lets the connection be silent for as long as it likes from now on; it never gives way.
    pub fn keep(&self) {
        self.0.state.lock().kept = true;
    }

    /// Returns the time that the server has waited for the peer; `None` while it does not wait.
    pub(crate) fn waited(&self) -> Option<Duration> {
        let wait = self.0.state.lock().wait()?;
        Some(wait.since.elapsed())
    }

    pub(crate) fn give_way(&self) {
        self.0.gave_way.cancel();
    }

    /// Resolves when the connection must end. Safe to cancel.
    pub async fn ended(&self) -> ConnectionEnd {
        loop {
            let wait = self.0.state.lock().wait();
            let left = wait.map_or(MAX_RECHECK, |wait| {
                wait.patience.saturating_sub(wait.since.elapsed())
            });
            if left.is_zero() {
                return ConnectionEnd::Overdue;
            }
            let gave_way = self.0.gave_way.cancelled();
            if tokio::time::timeout(left, gave_way).await.is_ok() {
                return ConnectionEnd::GaveWay;
            }
        }
    }
}

/// A request that is being answered, until this is dropped.
pub struct InFlight {
    activity: Activity,
    patience: Duration,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut state = self.activity.0.state.lock();
        state.requests -= 1;
        if state.requests == 0 {
            state.idle = Some(Wait::begin(self.patience));
            state.stalled = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT_TIMEOUT: Duration = Duration::from_secs(10);
    const LATER: Duration = Duration::from_secs(100);

    async fn ends_within(activity: &Activity, time: Duration) -> Option<ConnectionEnd> {
        tokio::time::timeout(time, activity.ended()).await.ok()
    }

    #[tokio::test(start_paused = true)]
    async fn hostile_silence_ends_but_work_does_not() {
        let activity = Activity::new(CLIENT_TIMEOUT);
        assert_eq!(ends_within(&activity, CLIENT_TIMEOUT / 2).await, None);
        let request = activity.begin(LATER);
        assert_eq!(ends_within(&activity, LATER * 10).await, None);
        drop(request);
        assert_eq!(ends_within(&activity, LATER / 2).await, None);
        assert_eq!(
            ends_within(&activity, LATER).await,
            Some(ConnectionEnd::Overdue)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn hostile_stalls_in_a_request_end_it_unless_something_moves() {
        let activity = Activity::new(CLIENT_TIMEOUT);
        let _request = activity.begin(LATER);
        for _ in 0..10 {
            activity.stalls(CLIENT_TIMEOUT);
            assert_eq!(ends_within(&activity, CLIENT_TIMEOUT / 2).await, None);
            activity.moves();
        }
        activity.stalls(CLIENT_TIMEOUT);
        assert_eq!(
            ends_within(&activity, LATER).await,
            Some(ConnectionEnd::Overdue)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_kept_connection_may_be_silent() {
        let activity = Activity::new(CLIENT_TIMEOUT);
        activity.keep();
        assert_eq!(ends_within(&activity, LATER * 100).await, None);
        assert_eq!(activity.waited(), None);
    }
}
