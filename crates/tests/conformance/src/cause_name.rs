//! The causes that a runtime reports only where they can arise.

use airside_runtime::Cause;

/// A cause for which each site says whether it can arise there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CauseName {
    NoRoom,
    OutOfMemory,
    Evicted,
    Killed,
    ImageRefused,
    CannotStart,
    Pulling,
}

impl CauseName {
    /// Returns true if the cause has this name.
    pub fn is(self, cause: &Cause) -> bool {
        match self {
            Self::NoRoom => matches!(cause, Cause::NoRoom { .. }),
            Self::OutOfMemory => *cause == Cause::OutOfMemory,
            Self::Evicted => *cause == Cause::Evicted,
            Self::Killed => *cause == Cause::Killed { signal: 9 },
            Self::ImageRefused => *cause == Cause::ImageRefused,
            Self::CannotStart => *cause == Cause::CannotStart,
            Self::Pulling => matches!(cause, Cause::Pulling { .. }),
        }
    }
}
