//! The minimum time between the starts of one job's builds.

/// Number of builds that a job's spacing lets start now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JobSpacing {
    /// The job's builds have no spacing.
    #[default]
    Free,
    /// One may start; the next has to wait.
    One,
    /// The last one started too recently.
    Rest,
}

impl JobSpacing {
    pub(super) fn allows(self) -> bool {
        self != Self::Rest
    }

    pub(super) fn after_start(self) -> Self {
        match self {
            Self::Free => Self::Free,
            Self::One | Self::Rest => Self::Rest,
        }
    }
}
