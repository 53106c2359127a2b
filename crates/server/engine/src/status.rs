//! The statuses of nodes, and the rules by which inner nodes combine those of their children. All
//! of it is pure: the interpreter decides what runs, and when.

use serde::{Deserialize, Serialize};

/// The end of a node. A later one outweighs an earlier one where several come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    Succeeded,
    Failed,
    Errored,
    /// A timeout around it ran out. The timeout itself makes a failure of it.
    TimedOut,
    /// The node was stopped.
    Aborted,
}

impl Status {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Errored => "errored",
            Self::TimedOut => "timed out",
            Self::Aborted => "aborted",
        }
    }

    /// Returns true if the node did not end by itself: only its hooks go on.
    pub(crate) fn is_error(self) -> bool {
        self > Self::Failed
    }
}

/// The reason why a node is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StopCause {
    TimedOut,
    /// The build was aborted, or a sibling failed and `fail_fast` is set.
    Aborted,
}

impl StopCause {
    pub(crate) fn status(self) -> Status {
        match self {
            Self::TimedOut => Status::TimedOut,
            Self::Aborted => Status::Aborted,
        }
    }

    /// Returns the text for the build's log.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::TimedOut => "timeout exceeded",
            Self::Aborted => "interrupted",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hook {
    OnSuccess,
    OnFailure,
    OnError,
    OnAbort,
    Ensure,
}

/// The surroundings that a hook runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Surroundings {
    /// A stop of the step stops the hook too.
    Same,
    /// Nothing stops the hook.
    Fresh,
}

impl Hook {
    /// Returns the surroundings in which the hook of a step with this end runs, or none if it does
    /// not. `stopped` is the cause that stops the surroundings of the step by now.
    pub(crate) fn runs(self, step: Status, stopped: Option<StopCause>) -> Option<Surroundings> {
        let (runs, surroundings) = match self {
            Self::OnSuccess => (step == Status::Succeeded, Surroundings::Same),
            Self::OnFailure => (step == Status::Failed, Surroundings::Same),
            Self::OnError => {
                let erred = matches!(step, Status::Errored | Status::TimedOut);
                (erred, Surroundings::Fresh)
            }
            Self::OnAbort => (step == Status::Aborted, Surroundings::Fresh),
            Self::Ensure if stopped.is_some() => (true, Surroundings::Fresh),
            Self::Ensure => (true, Surroundings::Same),
        };
        runs.then_some(surroundings)
    }

    /// Returns the status of step and hook together; `hook` is none if it did not run.
    pub(crate) fn join(
        self,
        step: Status,
        hook: Option<Status>,
        stopped: Option<StopCause>,
    ) -> Status {
        let Some(hook) = hook else { return step };
        match self {
            Self::OnSuccess => hook,
            // A hook changes what happened only by going wrong itself.
            Self::OnFailure | Self::OnError if hook.is_error() => step.max(hook),
            Self::OnFailure | Self::OnError | Self::OnAbort => step,
            Self::Ensure => match stopped {
                Some(cause) => cause.status(),
                None => step.max(hook),
            },
        }
    }
}

/// `try`: nothing but an abort gets out.
pub(crate) fn tried(step: Status) -> Status {
    match step {
        Status::Aborted => Status::Aborted,
        _ => Status::Succeeded,
    }
}

/// `timeout`: what ran out of time has failed.
pub(crate) fn timed(step: Status) -> Status {
    match step {
        Status::TimedOut => Status::Failed,
        other => other,
    }
}

/// `attempts`: the end, unless another attempt may do better.
pub(crate) fn attempted(attempt: Status, stopped: Option<StopCause>) -> Option<Status> {
    match (attempt, stopped) {
        (_, Some(cause)) => Some(cause.status()),
        (Status::Succeeded, None) => Some(Status::Succeeded),
        _ => None,
    }
}

/// Steps side by side. One that only its siblings stopped has not erred, but did not succeed
/// either.
pub(crate) fn together(
    steps: impl IntoIterator<Item = Status>,
    stopped: Option<StopCause>,
) -> Status {
    let steps = steps.into_iter().map(|status| match status {
        Status::Aborted => Status::Failed,
        other => other,
    });
    let worst = steps.max().unwrap_or(Status::Succeeded);
    stopped.map_or(worst, StopCause::status)
}

#[cfg(test)]
mod tests;
