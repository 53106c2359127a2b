//! The rights of a reader, as they were judged last. The judge is elsewhere.

use std::collections::BTreeSet;

use airside_model::{JobId, PipelineId, TeamId};

use crate::LiveTopic;

/// The teams that a reader belongs to. Readers with equal sight get the same bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LiveSight {
    /// Every team, as administrators do.
    All,
    Teams(BTreeSet<TeamId>),
}

impl LiveSight {
    /// Returns true if the reader belongs to the team.
    pub fn includes(&self, team: TeamId) -> bool {
        match self {
            Self::All => true,
            Self::Teams(teams) => teams.contains(&team),
        }
    }
}

/// A reader's right to one topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopicVerdict {
    Allowed(TopicAccess),
    Denied,
    /// The topic's object does not exist (any more).
    Gone,
}

/// The part of a topic that a reader may see, and the objects on which that depends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TopicAccess {
    pub pipeline: Option<PipelineId>,
    pub job: Option<JobId>,
    /// True if the reader may see the output of the build, and so its steps.
    pub sees_output: bool,
}

/// All that a reader may see, judged at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReaderRights {
    pub sight: LiveSight,
    /// The topics that the reader asked for.
    pub topics: Vec<(LiveTopic, TopicVerdict)>,
}
