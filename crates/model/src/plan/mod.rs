//! The plan of a build: a tree whose leaves are steps. The same JSON that Concourse keeps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{PlanId, TaskConfig, Version, task::ContainerLimits};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub id: PlanId,
    #[serde(flatten)]
    pub node: PlanNode,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanNode {
    Get(GetPlan),
    Put(PutPlan),
    Task(Box<TaskPlan>),
    Do(Vec<Plan>),
    InParallel(InParallelPlan),
    OnSuccess(OnSuccessPlan),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GetPlan {
    pub name: String,
    #[serde(rename = "type")]
    pub type_: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub resource: String,
    #[serde(default)]
    pub source: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// The put whose version this get fetches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_from: Option<PlanId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PutPlan {
    pub name: String,
    #[serde(rename = "type")]
    pub type_: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub resource: String,
    #[serde(default)]
    pub source: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, Value>,
    #[serde(default, skip_serializing_if = "PutInputs::is_detect")]
    pub inputs: PutInputs,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// Which artifacts a put sees: those its params name, all, or a list.
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

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskPlan {
    pub name: String,
    #[serde(default)]
    pub privileged: bool,
    #[serde(default)]
    pub hermetic: bool,
    pub config: TaskConfig,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_limits: Option<ContainerLimits>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub input_mapping: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub output_mapping: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InParallelPlan {
    pub steps: Vec<Plan>,
    /// How many may run at once; none or zero is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fail_fast: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OnSuccessPlan {
    pub step: Box<Plan>,
    pub on_success: Box<Plan>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_round_trip_in_concourses_shape() {
        let text = serde_json::json!({
            "id": "3",
            "on_success": {
                "step": {"id": "1", "put": {
                    "name": "out", "type": "mock", "source": {}, "params": {"version": "1"}, "inputs": "all"
                }},
                "on_success": {"id": "2", "get": {
                    "name": "out", "type": "mock", "source": {}, "version_from": "1"
                }},
            },
        });
        let plan: Plan = serde_json::from_value(text.clone()).unwrap();
        assert_eq!(serde_json::to_value(&plan).unwrap(), text);
        let named: PutInputs = serde_json::from_str(r#"["a"]"#).unwrap();
        assert_eq!(named, PutInputs::Named(vec!["a".into()]));
        assert!(serde_json::from_str::<PutInputs>(r#""some""#).is_err());
    }
}
