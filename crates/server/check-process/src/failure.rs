//! The reasons why a check gave no versions, with its output until then.

use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The type failed the check: the last line of the output says why.
    #[error("the check failed")]
    Failed { output: String },
    #[error("timeout exceeded")]
    TimedOut { output: String },
    #[error(
        "the checker of team `{team}` ended in the middle of the check ({how}); it is started again, but if \
         this goes on, the check may need more memory than a checker has"
    )]
    Died {
        team: String,
        how: String,
        output: String,
    },
    /// The process of the check could not be run, or sent nonsense.
    #[error("{why}")]
    Broken { why: String, output: String },
    #[error("the checker of team `{team}` cannot be started: {why}")]
    NotStarted { team: String, why: String },
    #[error("the checker of team `{team}` takes no more checks: {waiting} are waiting")]
    Full { team: String, waiting: usize },
    #[error("the check's request is too large to be sent: {bytes} bytes")]
    TooLarge { bytes: usize },
}

impl Failure {
    /// Returns the output of the check before it failed.
    pub fn output(&self) -> &str {
        match self {
            Self::Failed { output }
            | Self::TimedOut { output }
            | Self::Broken { output, .. }
            | Self::Died { output, .. } => output,
            Self::NotStarted { .. } | Self::Full { .. } | Self::TooLarge { .. } => "",
        }
    }

    /// Returns true if the type itself failed the check, not the way to it.
    pub fn is_the_types_own(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }
}

/// Returns the pause before a checker that ended at once is started again.
pub(crate) fn pause(starts_in_vain: u32) -> Duration {
    let longest = Duration::from_secs(10);
    match starts_in_vain {
        0 => Duration::ZERO,
        more => (Duration::from_millis(100) * (1 << (more - 1).min(10))).min(longest),
    }
}
