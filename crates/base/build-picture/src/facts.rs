//! Facts that events tell about one step.

use airside_model::{MetadataField, Version};

use crate::PictureState;

/// Facts about one step, as far as they are known. Times are milliseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepFacts {
    /// Time at which the step began: before it had a worker or an image.
    pub began: Option<i64>,
    /// Time at which the step's process started.
    pub started: Option<i64>,
    pub ended: Option<i64>,
    /// Result of a step that ended by itself.
    pub succeeded: Option<bool>,
    pub exit_status: Option<i32>,
    /// Version that a get, put or check came to.
    pub version: Option<Version>,
    pub metadata: Vec<MetadataField>,
    pub worker: Option<String>,
    /// True while no worker takes the step.
    pub waits_for_worker: bool,
    pub error: Option<StepError>,
    /// True if a `set_pipeline` step changed the pipeline.
    pub changed: Option<bool>,
    /// End of the step as the store has it.
    pub outcome: Option<PictureState>,
}

/// The reason why a step did not end by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepError {
    /// The step was stopped.
    Interrupted,
    /// The step had its time.
    TimedOut,
    /// The step erred, with these words.
    Erred(String),
}

/// Words of the event with which a stopped step ends.
const INTERRUPTED: &str = "interrupted";
/// Words of the event with which a step ends that had its time.
const TIMED_OUT: &str = "timeout exceeded";

impl StepError {
    /// Reads the words of an error event. Concourse has these two words and no field for them.
    pub(crate) fn of_words(words: String) -> Self {
        match words.as_str() {
            INTERRUPTED => Self::Interrupted,
            TIMED_OUT => Self::TimedOut,
            _ => Self::Erred(words),
        }
    }

    /// Returns the words as the build's events have them.
    pub fn words(&self) -> &str {
        match self {
            Self::Interrupted => INTERRUPTED,
            Self::TimedOut => TIMED_OUT,
            Self::Erred(words) => words,
        }
    }
}
