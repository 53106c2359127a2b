//! Telling a part of a plan to stop, and why.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

use crate::status::StopCause;

/// Stops one part of a plan, and with it all that is inside; clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    token: CancellationToken,
    own: Arc<OnceLock<StopCause>>,
    outer: Option<Arc<Stop>>,
}

impl Stop {
    /// Returns the stop of a build: cancelling the token aborts it.
    pub(crate) fn of_build(token: CancellationToken) -> Self {
        Self {
            token,
            own: Arc::default(),
            outer: None,
        }
    }

    /// Returns a stop for hooks that must run whatever happens around them.
    pub(crate) fn never() -> Self {
        Self::of_build(CancellationToken::new())
    }

    /// Returns the stop of a part inside this one.
    pub(crate) fn part(&self) -> Self {
        Self {
            token: self.token.child_token(),
            own: Arc::default(),
            outer: Some(Arc::new(self.clone())),
        }
    }

    pub(crate) fn stop(&self, cause: StopCause) {
        if !self.token.is_cancelled() {
            // The first cause counts.
            let _ = self.own.set(cause);
            self.token.cancel();
        }
    }

    /// Returns the reason why this part is to stop, if it is.
    pub(crate) fn cause(&self) -> Option<StopCause> {
        if !self.token.is_cancelled() {
            return None;
        }
        let outer = || self.outer.as_ref().and_then(|outer| outer.cause());
        let own = self.own.get().copied();
        Some(own.or_else(outer).unwrap_or(StopCause::Aborted))
    }

    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_knows_who_stopped_it() {
        let token = CancellationToken::new();
        let build = Stop::of_build(token.clone());
        let (timed, other) = (build.part(), build.part());
        let inner = timed.part();
        assert_eq!(inner.cause(), None);
        timed.stop(StopCause::TimedOut);
        assert_eq!(timed.cause(), Some(StopCause::TimedOut));
        assert_eq!(inner.cause(), Some(StopCause::TimedOut));
        assert_eq!((build.cause(), other.cause()), (None, None));
        token.cancel();
        assert_eq!(build.cause(), Some(StopCause::Aborted));
        assert_eq!(other.cause(), Some(StopCause::Aborted));
        // What has timed out stays so.
        assert_eq!(inner.cause(), Some(StopCause::TimedOut));
        assert_eq!(Stop::never().cause(), None);
    }
}
