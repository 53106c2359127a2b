//! The outcome of a leaf, as it is stored and answered again after a crash.

use std::collections::BTreeMap;

use airside_model::{MetadataField, Version, VolumeId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{reference::Reference, scope::LocalVar, status::Status};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<Version>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) metadata: Vec<MetadataField>,
    /// Artifacts it registered, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) artifacts: BTreeMap<String, VolumeId>,
    /// The step's error, which `across` repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// Values that are kept apart, and sealed.
    #[serde(skip)]
    pub(crate) hidden: Hidden,
}

/// The part of an outcome that readers of the database must not see.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Hidden {
    /// Variables it added to the build.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) vars: BTreeMap<String, LocalVar>,
    /// Artifacts that only describe an image, with everything it takes to fetch them, passwords
    /// included.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) references: BTreeMap<String, Reference>,
    /// Values of variables that were looked up for it: none of the build's output shows them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) secrets: Vec<Value>,
}

impl Hidden {
    pub(crate) fn is_empty(&self) -> bool {
        self.vars.is_empty() && self.references.is_empty() && self.secrets.is_empty()
    }
}

impl Outcome {
    pub(crate) fn of(status: Status) -> Self {
        Self {
            status,
            version: None,
            metadata: Vec::new(),
            artifacts: BTreeMap::new(),
            error: None,
            hidden: Hidden::default(),
        }
    }
}
