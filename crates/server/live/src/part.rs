//! The parts of pages that are to be fetched again.

use std::fmt;

use airside_model::{BuildId, ResourceId};

/// A part of a topic's page, by the server's name for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum LivePart {
    All,
    /// The title and the actions.
    Top,
    Builds,
    /// One row of a list of builds.
    Build(BuildId),
    /// The inputs of a job's next build.
    Inputs,
    Steps,
    Check,
    Versions,
    Pin,
    Graph,
    /// One resource of a pipeline.
    Resource(ResourceId),
    Workers,
    Wall,
}

impl LivePart {
    /// Returns true if only readers who may see the output of the build learn of it.
    pub(crate) fn needs_output(self) -> bool {
        self == Self::Steps
    }
}

impl fmt::Display for LivePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "all",
            Self::Top => "top",
            Self::Builds => "builds",
            Self::Build(id) => return write!(f, "build:{id}"),
            Self::Inputs => "inputs",
            Self::Steps => "steps",
            Self::Check => "check",
            Self::Versions => "versions",
            Self::Pin => "pin",
            Self::Graph => "graph",
            Self::Resource(id) => return write!(f, "resource:{id}"),
            Self::Workers => "workers",
            Self::Wall => "wall",
        })
    }
}
