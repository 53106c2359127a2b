//! Where a step stands: the labels its container or pod carries.

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
    /// Which attempt of each `attempts` around it this is, outermost first; empty outside of any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<u32>,
}
