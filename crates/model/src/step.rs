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
}
