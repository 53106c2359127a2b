//! The reasons why a pending build waits.

use airside_model::ResourceId;

use crate::{BuildKey, NameId};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wait {
    PipelinePaused,
    JobPaused,
    /// The maximum number of builds of its serial groups run.
    MaxInFlight {
        running: u32,
        limit: u32,
    },
    /// A build of another job in its serial groups comes first.
    TurnOf(BuildKey),
    /// Checks of these resources must end first.
    Checks(Vec<ResourceId>),
    /// An input has no version; the resolution has the reason.
    Inputs,
    /// A rerun of a build that never got its inputs.
    OriginalInputs,
    /// A rerun of a build whose version for this input is gone.
    OriginalGone(NameId),
    /// The job's last build started too recently for the installation's spacing.
    Spacing,
    /// The job's builds start in order, and this one waits.
    Behind(BuildKey),
}

impl Wait {
    pub(super) fn is_of_the_original(&self) -> bool {
        matches!(self, Self::OriginalInputs | Self::OriginalGone(_))
    }
}

impl std::fmt::Display for Wait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::PipelinePaused => f.write_str("the pipeline is paused"),
            Self::JobPaused => f.write_str("the job is paused"),
            Self::MaxInFlight { running, limit } => {
                write!(
                    f,
                    "{running} builds of its serial groups run, of at most {limit}"
                )
            }
            Self::TurnOf(key) => write!(f, "build {} of its serial groups comes first", key.build),
            Self::Checks(resources) => {
                write!(f, "{} resources are being checked for it", resources.len())
            }
            Self::Inputs => f.write_str("an input has no version"),
            Self::OriginalInputs => f.write_str("the build it repeats never got its inputs"),
            Self::OriginalGone(_) => f.write_str("a version of the build it repeats is gone"),
            Self::Spacing => f.write_str("the job's last build has only just started"),
            Self::Behind(key) => write!(f, "build {} of the same job comes first", key.build),
        }
    }
}
