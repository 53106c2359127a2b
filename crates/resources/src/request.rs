//! What is asked of a resource type and what it answers: the JSON of the resource scripts.

use airside_model::{MetadataField, Version};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::failure::{Failure, Part};

/// `source` or `params`, before its type has looked at it.
pub type Object = Map<String, Value>;

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckRequest {
    #[serde(default)]
    pub source: Object,
    #[serde(default)]
    pub version: Option<Version>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InRequest {
    #[serde(default)]
    pub source: Object,
    #[serde(default)]
    pub params: Object,
    pub version: Version,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutRequest {
    #[serde(default)]
    pub source: Object,
    #[serde(default)]
    pub params: Object,
}

/// What `fetch` fetched or `push` made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Produced {
    pub version: Version,
    #[serde(default)]
    pub metadata: Vec<MetadataField>,
}

/// Gives an object its type's own form, or says which key it should not have, or not like that.
pub(crate) fn read<T: DeserializeOwned>(part: Part, object: Object) -> Result<T, Failure> {
    serde_path_to_error::deserialize(Value::Object(object)).map_err(|error| {
        let key = error.path().to_string();
        Failure::Invalid {
            part,
            key: Some(key).filter(|key| key != "."),
            error: error.into_inner(),
        }
    })
}
