//! Task configurations, as they stand in plans once they have been validated.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Version;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskConfig {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub platform: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_resource: Option<ImageResource>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rootfs_uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_limits: Option<ContainerLimits>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, String>,
    /// Command of the task; without any, the image says what to run.
    #[serde(default, skip_serializing_if = "TaskRun::is_empty")]
    pub run: TaskRun,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<TaskInput>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<TaskOutput>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<TaskCache>,
}

/// The platform of all workers.
pub const PLATFORM: &str = "linux";

impl TaskConfig {
    /// The platform that the task wants, if no worker can have it. One that is still a variable may
    /// turn out well.
    pub fn foreign_platform(&self) -> Option<&str> {
        let known = self.platform == PLATFORM || self.platform.is_empty();
        (!known && !self.platform.contains("((")).then_some(self.platform.as_str())
    }

    /// Words for a task whose platform no worker has.
    pub fn platform_complaint(&self) -> Option<String> {
        let platform = self.foreign_platform()?;
        Some(format!(
            "no workers satisfying: platform '{platform}'; workers of Airside are '{PLATFORM}', and a task for another \
             platform can run on none of them"
        ))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageResource {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(rename = "type")]
    pub type_: String,
    /// Kept apart from an empty map, and written as null: `fly` tells the two apart when it
    /// compares.
    #[serde(default)]
    pub source: Option<serde_json::Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<serde_json::Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContainerLimits {
    /// CPU shares: 1024 is one core's worth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u64>,
    /// Bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskRun {
    #[serde(default)]
    pub path: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dir: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub user: String,
}

impl TaskRun {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskInput {
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

impl TaskInput {
    pub fn mount_path(&self) -> &str {
        if self.path.is_empty() {
            &self.name
        } else {
            &self.path
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskOutput {
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
}

impl TaskOutput {
    pub fn mount_path(&self) -> &str {
        if self.path.is_empty() {
            &self.name
        } else {
            &self.path
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskCache {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Duration after which an unused cache is removed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ttl: String,
}
