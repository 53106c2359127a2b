//! The two kinds of failures that a step meets, in one type.

use crate::{Error, status::StopCause};

/// The reason why a step, or the plan of a build, does not go on.
#[derive(Debug)]
pub(crate) enum StepError {
    /// The server failed: nothing is known of the step, and the build is taken up again.
    Ours(Error),
    /// The user must act: the step has erred, and the text goes into the build's log.
    Users(String),
    /// The step was stopped before it had a process.
    Stopped(StopCause),
}

impl StepError {
    /// Returns the text for the build's log, or the server's own failure.
    pub(crate) fn into_words(self) -> Result<String, Error> {
        match self {
            Self::Ours(error) => Err(error),
            Self::Users(words) => Ok(words),
            Self::Stopped(cause) => Ok(cause.words().to_owned()),
        }
    }
}

impl From<Error> for StepError {
    fn from(error: Error) -> Self {
        Self::Ours(error)
    }
}

impl From<airside_store::Error> for StepError {
    fn from(error: airside_store::Error) -> Self {
        Self::Ours(error.into())
    }
}

impl From<airside_tasks::Panicked> for StepError {
    fn from(panicked: airside_tasks::Panicked) -> Self {
        Self::Ours(panicked.into())
    }
}

/// Text is always for users.
impl From<String> for StepError {
    fn from(words: String) -> Self {
        Self::Users(words)
    }
}
