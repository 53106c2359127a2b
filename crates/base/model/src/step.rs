//! The position of a step in its build: labels of its container or pod.

use serde::{Deserialize, Serialize};

use crate::{BuildId, StepKind};

/// Names for people; nothing is looked up by them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepLabels {
    pub team: String,
    pub pipeline: Option<String>,
    pub job: Option<String>,
    pub build: BuildId,
    pub build_name: String,
    pub step: String,
    pub kind: StepKind,
    pub attempt: u32,
    /// Number of the attempt for each `attempts` around the step, outermost first; empty outside of
    /// any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<u32>,
}
