//! What nodes come to, and how inner nodes make one status of those of their children. All of it is
//! pure: what runs, and when, is for the interpreter.

use serde::{Deserialize, Serialize};

/// What a node came to. The later ones outweigh the earlier where several come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    Succeeded,
    Failed,
    Errored,
    /// A timeout around it ran out. The timeout itself makes a failure of it.
    TimedOut,
    /// Told to stop.
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

    /// Whether the node did not come to an end of its own, and nobody but its hooks goes on.
    pub(crate) fn is_error(self) -> bool {
        self > Self::Failed
    }
}

/// Why a node is to stop.
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

    /// What the log says of it.
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

/// What a hook runs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Surroundings {
    /// What stops the step stops the hook.
    Same,
    /// Nothing stops it.
    Fresh,
}

impl Hook {
    /// Whether the hook of a step that came to `step` runs, and with what. `stopped` is what stops
    /// the surroundings of the step by now.
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

    /// What step and hook come to together; `hook` is none if it did not run.
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

/// Steps side by side. One that only its siblings stopped has not erred, but did not succeed either.
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
