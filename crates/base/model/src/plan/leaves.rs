//! Nodes that run something.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Plan;
use crate::null::null_is_default;
use crate::{PlanId, ResourceType, TaskConfig, Version, task::ContainerLimits};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GetPlan {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(rename = "type")]
    pub type_: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub resource: String,
    #[serde(default, deserialize_with = "null_is_default")]
    pub source: Map<String, Value>,
    #[serde(default)]
    pub image: TypeImage,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// The put or check whose version this get fetches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_from: Option<PlanId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub timeout: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PutPlan {
    pub name: String,
    #[serde(rename = "type")]
    pub type_: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub resource: String,
    #[serde(default, deserialize_with = "null_is_default")]
    pub source: Map<String, Value>,
    #[serde(default)]
    pub image: TypeImage,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, Value>,
    #[serde(default, skip_serializing_if = "PutInputs::is_detect")]
    pub inputs: PutInputs,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub timeout: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub expose_build_created_by: bool,
}

/// Source of a resource type's image: two plans that fetch it, or a type that the worker has by
/// itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TypeImage {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_plan: Option<Box<Plan>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub get_plan: Option<Box<Plan>>,
    /// The type at the bottom of the chain.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base_type: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub privileged: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckPlan {
    pub name: String,
    #[serde(rename = "type")]
    pub type_: String,
    #[serde(default, deserialize_with = "null_is_default")]
    pub source: Map<String, Value>,
    #[serde(default)]
    pub image: TypeImage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_version: Option<Version>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub resource: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub resource_type: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prototype: String,
    /// A duration such as `1m0s`, or `never`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub interval: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skip_interval: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub timeout: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// Artifacts that a put gets: those its params name, all, or a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PutInputs {
    #[default]
    #[serde(with = "detect_word")]
    Detect,
    #[serde(with = "all_word")]
    All,
    Named(Vec<String>),
}

impl PutInputs {
    fn is_detect(&self) -> bool {
        *self == Self::Detect
    }
}

macro_rules! word {
    ($module:ident, $word:literal) => {
        mod $module {
            use serde::{Deserialize, Deserializer, Serializer};

            pub(super) fn serialize<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str($word)
            }

            pub(super) fn deserialize<'de, D: Deserializer<'de>>(
                deserializer: D,
            ) -> Result<(), D::Error> {
                match String::deserialize(deserializer)?.as_str() {
                    $word => Ok(()),
                    _ => Err(serde::de::Error::custom(concat!("expected `", $word, "`"))),
                }
            }
        }
    };
}

word!(detect_word, "detect");
word!(all_word, "all");

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskPlan {
    pub name: String,
    #[serde(default)]
    pub privileged: bool,
    #[serde(default)]
    pub hermetic: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// A file in an artifact, where the plan has no config of its own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub config_path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<TaskConfig>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_limits: Option<ContainerLimits>,
    /// An artifact that is the task's image, instead of what its config says.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub image: String,
    /// Values for the variables of the file.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub vars: Map<String, Value>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub input_mapping: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub output_mapping: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub timeout: String,
    /// Params of the get that fetches the image.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub resource_types: Vec<ResourceType>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub check_skip_interval: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunPlan {
    pub message: String,
    #[serde(rename = "type")]
    pub type_: String,
    /// The step's params over the prototype's defaults.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub object: Map<String, Value>,
    #[serde(default)]
    pub privileged: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_limits: Option<ContainerLimits>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub timeout: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SetPipelinePlan {
    /// A pipeline's name, or `self`.
    pub name: String,
    pub file: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub team: String,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub vars: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub var_files: Vec<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub instance_vars: Map<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadVarPlan {
    pub name: String,
    pub file: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub format: String,
    /// True if logs may show the value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reveal: bool,
}

/// An upload of `fly execute`, as an artifact of the build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactInputPlan {
    pub artifact_id: i64,
    pub name: String,
}

/// An artifact of the build that `fly execute` will download.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactOutputPlan {
    pub name: String,
}
